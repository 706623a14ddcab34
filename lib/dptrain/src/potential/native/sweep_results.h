#pragma once

#include <cstddef>
#include <vector>

#include "dptrain/potential/model/model.h"
#include "frames/frame_set.h"
#include "kernels/force_sums.h"
#include "kernels/memory.h"

namespace dptrain {

/// What pass A finds over some frames, and how it comes to the outputs of their domains.
class SweepResults {
 public:
  explicit SweepResults(int ntypes) : shift_(ntypes) {}

  /// Cleared sums of energies, forces and virials, once per worker; virials of atoms where an output asks for them.
  kernels::ForceSums begin(const FrameSet &frames, const ForwardOutput *out, std::size_t centers);
  /// Atoms that begin() makes room for. On a device the number wanders less than that of the atoms, so that sweeps over the same
  /// centers give the same commands.
  static int room_for(const FrameSet &frames);
  /// [centers] eV, cleared, for the kernels.
  double *energies() { return all_.data() + at_.energy; }
  /// Of the energy of each atom of a type, eV: to be set before add().
  double &shift(int type) { return shift_[type]; }
  /// Adds all to the outputs, and `bias` to the energy of each atom, by type, eV, which is not one of the network. `bars`:
  /// [centers]; null: none.
  void add(const FrameSet &frames, const std::vector<double> &bias,
           const kernels::Array<double> *bars, ForwardOutput *out);
  std::size_t memory_bytes() const;

 private:
  void sum_copies(const FrameSet &frames);
  static const double *on_host(const kernels::Array<double> &array, std::vector<double> &copy);
  void add_energies(const FrameSet &frames, const std::vector<double> &bias, const double *energy,
                    ForwardOutput *out);
  void add_forces(const FrameSet &frames, const double *all, ForwardOutput *out);
  void add_bars(const FrameSet &frames, const double *bars, ForwardOutput *out);
  void add_on_device(const FrameSet &frames, const std::vector<double> &bias,
                     const kernels::Array<double> *bars, ForwardOutput &out);
  int ntypes() const { return static_cast<int>(shift_.size()); }

  std::vector<double> shift_;
  kernels::Array<double> all_;  // first the forces; one copy brings all to the host
  struct {
    long virial = 0, energy = 0, atom_virial = 0;
  } at_;  // where the others begin
  long centers_ = 0, atoms_ = 0;
  kernels::Array<double> parts_;
  bool atom_virial_ = false;
  std::vector<double> host_, host_bars_;
};

}  // namespace dptrain
