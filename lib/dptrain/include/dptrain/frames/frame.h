#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dptrain/base/fields.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/frames/charge_solver.h"
#include "dptrain/frames/halo.h"

namespace dptrain {

/// What sums over all atoms of a frame need beside those of a domain.
struct WholeCell {
  std::array<double, 9> box{};     ///< rows a, b, c
  bool periodic = true;            ///< false: no cell
  std::optional<double> charge{};  ///< e, of all atoms; none: it is not known
  const Communicator *ranks =
      nullptr;  ///< that have the frame together, all of which ask at the same time; null: this one
  ChargeSolver solver{};  ///< of the energy of charges in pass A; empty: sums over k
};

/// Atoms and neighbors of one domain, as the engine holds them: plain pointers, nothing owned.
/// Lengths in Angstrom. Lists are full (each pair from both sides) and may reach beyond the cutoff of the model.
/// The list of an atom is a row of its own, or one of a table with strides.
struct Domain {
  int nlocal = 0;                ///< owned atoms
  int nall = 0;                  ///< owned + ghost atoms
  const double *x = nullptr;     ///< [nall][3]
  const int *type = nullptr;     ///< [nall] index into the model's type_map; -1: not in the model
  int num_centers = 0;           ///< atoms whose energy is asked
  const int *centers = nullptr;  ///< [num_centers] indices < nlocal
  const int *num_neighbors = nullptr;     ///< [nlocal] by atom
  const int *const *neighbors = nullptr;  ///< [nlocal] rows of indices < nall after masking
  const int *neighbor_table =
      nullptr;  ///< or entry k of atom i: [i * row_stride + k * entry_stride]
  std::ptrdiff_t row_stride = 0, entry_stride = 1;
  int largest_row = 0;             ///< of the table: no row is longer
  int neighbor_mask = 0x1FFFFFFF;  ///< bits of a list entry that hold the index
  /// All arrays above lie where kernels run, and where that is a GPU the host cannot read them. What ForwardOutput says by
  /// atom is then written there too.
  bool in_kernel_memory = false;
  /// [nall] the owned atom that each atom is, or is an image of; null where this rank does not have the whole frame.
  const int *owner = nullptr;
  int first_type = 0;              ///< the lowest type of the whole frame, the same on all ranks
  std::optional<WholeCell> whole;  ///< none: energies that are sums over all atoms are left out
  std::uint64_t number = 0;        ///< see Frame::number

  /// Where the list of an atom begins.
  const int *row(int atom) const
  {
    return neighbor_table ? neighbor_table + atom * row_stride : neighbors[atom];
  }
  /// Its entry k, without the mask. Host memory.
  int neighbor(int atom, int k) const { return row(atom)[k * entry_stride]; }
};

/// Reference values of one frame. eV, eV/Angstrom; virial = sum_i F_i (x) x_i, row-major, sign as in LAMMPS.
struct Label {
  std::optional<double> energy;                 ///< of the whole frame, same value on all ranks
  std::vector<double> force;                    ///< [nlocal][3] of the owned atoms, or empty
  std::optional<std::array<double, 9>> virial;  ///< of the whole frame, same value on all ranks
  /// [nlocal] how much an atom's force counts, 0 or more: all means over force errors are weighted means. Empty: 1 for each.
  /// Of a cut-out the forces on the atoms near its surface are not those of the configuration that it is part of.
  std::vector<double> force_weight;
  double frame_weight =
      1.0;  ///< how much the frame counts in the loss, 0 or more; the same value on all ranks
  // what DeePMD-kit's further loss terms need; per owned atom, or empty
  std::vector<double> atom_energy;      ///< [nlocal] eV, term `ae`
  std::vector<double> atom_pref;        ///< [nlocal] weight of an atom's force error, term `pf`
  std::vector<double> atom_ener_coeff;  ///< [nlocal] E = sum_i coeff_i E_i
  std::vector<double> drdq;             ///< [nlocal][3][generalized coordinates] dr/dq, term `gf`
};
DPTRAIN_FIELDS(Label, energy, force, virial, force_weight, frame_weight, atom_energy, atom_pref,
               atom_ener_coeff, drdq)

/// This rank's share of one labeled frame: owned atoms, the ghosts they need, neighbors within the cutoff, labels.
/// The ranks together hold the frame once, unless it is a copy. Not copied by chance, as it is large.
struct Frame {
  std::int64_t natoms = 0;  ///< atoms of the whole frame, over all ranks
  std::int64_t step = 0;    ///< time step or index the frame came from
  int nlocal = 0;
  std::vector<std::int64_t>
      type_counts;  ///< [largest type + 1] atoms of each type in the whole frame; empty: not counted
  std::vector<double> x;          ///< [nall][3]
  std::vector<int> type;          ///< [nall]
  std::vector<std::int64_t> tag;  ///< [nlocal] global atom ids, for files
  std::vector<int>
      owner;  ///< [nall] see Domain::owner; empty where this rank does not have the whole frame
  double cutoff = 0.0;           ///< Angstrom, of the neighbors
  std::vector<int> first;        ///< [nlocal + 1] offsets into neighbor; empty after drop_neighbors
  std::vector<int> neighbor;     ///< indices < nall, ascending in each row
  std::array<double, 9> box{};   ///< rows a, b, c
  bool periodic = true;          ///< false: no cell (DeePMD's nopbc)
  std::optional<double> charge;  ///< e, of all atoms; none: it is not known
  bool is_copy = false;          ///< every rank has the whole frame, and one of them works on it
  /// Unique number of a frame whose atoms never move, by which a model finds again what it kept of it; 0: they may. Whoever moves
  /// them sets it to 0.
  std::uint64_t number = 0;
  Label label;
  std::shared_ptr<const Halo> halo;

  Frame() = default;
  Frame &operator=(const Frame &) = delete;
  Frame(Frame &&) = default;
  Frame &operator=(Frame &&) = default;

  int nall() const { return static_cast<int>(type.size()); }
  /// The rows are most of a frame's memory: they can be dropped, and found again the same.
  void drop_neighbors();
  void find_neighbors();
  /// All arrays can wait elsewhere, and be put back.
  void drop_arrays();
  /// work(array) for each of them.
  template <class AnyFrame, class Work> static void for_arrays(AnyFrame &frame, const Work &work)
  {
    auto &label = frame.label;
    work(frame.x);
    work(frame.type);
    work(frame.tag);
    work(frame.owner);
    work(frame.first);
    work(frame.neighbor);
    work(label.force);
    work(label.force_weight);
    work(label.atom_energy);
    work(label.atom_pref);
    work(label.atom_ener_coeff);
    work(label.drdq);
  }
  bool has_neighbors() const { return !first.empty(); }
  /// The same once more.
  Frame copy() const;
  /// Share of a rank that has no atoms of this frame, with what all ranks know of it.
  Frame without_atoms() const;
  /// View for the model; valid while the frame lives and is not changed. Needs the neighbors.
  Domain domain() const;
  /// The same, whose centers are the atoms with a force_weight above 0, for what is local.
  Domain weighted_domain() const;
  /// Bytes of the frame and its arrays, as they are now; without the halo.
  std::size_t memory_bytes() const;

 private:
  Frame(const Frame &) = default;

  mutable std::vector<const int *> rows_;  // of neighbor
  mutable std::vector<int> counts_, centers_;
};

/// Adds a stored frame: its own arrays, its neighbor rows, its plan of ghosts.
void add_frame(MemoryLedger &ledger, const Frame &frame);

}  // namespace dptrain
