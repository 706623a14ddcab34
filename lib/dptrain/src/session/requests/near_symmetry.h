#pragma once

#include <array>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Symmetry operations of the crystal that a configuration is near to: each atom comes to lie where another one is, but for the
/// displacements of a hot crystal.
class NearSymmetry {
 public:
  /// None for configurations that are not periodic, and for more than 256 atoms.
  explicit NearSymmetry(const WholeFrame &frame);

  /// Whether the forces have one of the symmetries to all digits where the positions do not.
  bool is_kept_by_forces_alone(const WholeFrame &frame, const std::vector<double> &force) const;

 private:
  struct Operation {
    std::array<double, 9> rotation;  ///< row vectors times this
    std::array<double, 9> integers;  ///< the same for vectors in units of the cell
    std::vector<int> image;          ///< atom that each atom comes to lie on
  };
  std::vector<int> type_;
  std::vector<Operation> operations_;
};

}  // namespace dptrain
