#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// What to tell where a fit has changed energies of separate atoms that were known.
constexpr const char *atoms_are_fitted =
    "the energies of the labels are more than 1 eV per atom away from the model's: they are of "
    "another reference, or the model has hardly been trained; the energies of separate atoms, "
    "which "
    "it knew, are fitted now";

/// Fits the energy bias of a model by least squares to (label - energy of the network) of frames that are given one after
/// the other; nothing of a frame is kept but the number of its atoms of each type and its energies. The change of the bias
/// has the smallest norm, so types without data keep theirs. Types whose separate atoms have a known energy keep it, unless
/// the labels are of another reference: energies that are then wrong by more than an eV per atom, more than a trained net
/// errs by, are fitted with the others.
class EnergyBiasFit {
 public:
  /// use_coefficients: the energy of a frame is the sum of its atoms' energies times Label::atom_ener_coeff, where it has
  /// them. keeps_atom_energies: they are right for the labels; a net that has not been trained says nothing about it.
  EnergyBiasFit(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
                bool use_coefficients = false, bool keeps_atom_energies = false);

  /// Takes up a frame, which must have its neighbor rows; one without an energy label is passed over. Collective.
  void add(const Frame &frame);
  /// Frames with an energy label so far.
  std::int64_t num_frames() const { return static_cast<std::int64_t>(labels_.size()); }
  /// Changes the bias of the model, and forgets the frames. Returns the standard deviation over the frames of what then
  /// remains of label - energy, in eV (DeePMD-kit's out_std). Collective.
  double apply();

 private:
  void subtract(std::vector<double> &energies, const std::vector<double> &bias) const;
  std::vector<double> of_open_types() const;
  double error_per_atom(const std::vector<double> &rest) const;

  std::shared_ptr<Model> model_;
  std::shared_ptr<const Communicator> comm_;
  bool use_coefficients_, keeps_atom_energies_;
  std::vector<double> labels_;  // [frames] eV
  // of this rank's atoms
  std::vector<double> counts_;            // [frames][ntypes] atoms, or sums of their coefficients
  std::vector<double> network_energies_;  // [frames] eV, without the bias
  std::vector<double> force_, atom_energy_;
};

}  // namespace dptrain
