#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dptrain/base/fields.h"
#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// A frame as a whole, on one rank: what data sets and the frames file hold. Atoms in order of their ids.
struct WholeFrame {
  std::int64_t step = 0;
  std::vector<double> coord;  ///< [natoms][3] Angstrom
  std::vector<int> type;      ///< [natoms] model types
  std::array<double, 9> box{};
  bool periodic = true;
  std::optional<double> charge;  ///< e, of all atoms; none: it is not known
  bool held_out = false;         ///< for validation, not for training
  Label label;                   ///< force [natoms][3]
  /// Energy, force and virial of the baseline of the potential, which `label` is without; none where it has no baseline.
  std::optional<Label> baseline;
};
DPTRAIN_FIELDS(WholeFrame, step, coord, type, box, periodic, charge, held_out, label, baseline)

/// The label with `factor` times the energy, forces and virial of another one, where it has them.
void add(Label &label, const Label &other, double factor);

/// Splits a whole frame (same on all ranks) over the ranks: owned atoms in bricks of equal numbers (recursive bisection),
/// ghosts by periodic images within rcut, cell list, halo plan. Cells smaller than the cutoff and single atoms work.
/// Collective.
Frame scatter_frame(std::shared_ptr<const Communicator> comm, const WholeFrame &whole, double rcut);

}  // namespace dptrain
