#pragma once

#include <optional>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/session/learning_options.h"
#include "neighbor/lattice.h"

namespace dptrain {

/// How large cut-outs are. Angstrom.
struct CutoutShape {
  double radius = 0.0;  ///< atoms that are part of it
  double core = 0.0;    ///< atoms whose forces count: the buffer around them is radius - core thick
  double vacuum = 0.0;  ///< between it and its images
};

/// What the options mean for a model with this cutoff. Throws Error where the neighborhoods of the core's atoms are not whole, or
/// there is no core.
CutoutShape cutout_shape(const CutoutOptions &options, double cutoff, const UnitFactors &units);

/// What surrounds one atom of a configuration.
struct Cutout {
  std::vector<int> atoms;  ///< of the configuration, ascending
  /// In a cell of its own, which is wider than the cut-out by the vacuum. label.force_weight: 1 in the core, 0 in the buffer.
  WholeFrame frame;
};

/// Cuts a configuration. Distances are those of nearest images. A direction in which the box is not wider than a cut-out with
/// its vacuum stays as it is, with all its atoms and its period: a cut-out is then a cylinder or a slab, and its distances are
/// those across it. In the other directions the cell has the box's shape and is as wide as the cut-out with its vacuum. A
/// configuration without cell gives cut-outs without cell; their box is what holds them.
class Cutter {
 public:
  /// `whole` must live as long.
  Cutter(const WholeFrame &whole, const CutoutShape &shape);

  /// Of two atoms, Angstrom.
  double distance(int a, int b) const;
  /// The cut-out around an atom.
  Cutout around(int center) const;
  /// Whether a cut-out has all atoms: there is nothing to cut.
  bool is_whole(const Cutout &cutout) const;
  /// Centers of cut-outs: `first`, then the atoms with the largest bars above `least` that are in no core of the ones
  /// before; at most `most` in all.
  std::vector<int> centers(int first, const std::vector<double> &bars, double least,
                           int most) const;

 private:
  std::array<double, 3> difference(int from, int to) const;
  double across(const std::array<double, 3> &vector) const;

  const WholeFrame &whole_;
  CutoutShape shape_;
  std::optional<Lattice> lattice_;           // of the configuration
  std::array<bool, 3> is_cut_{};             // directions in which there is a vacuum
  std::vector<std::array<double, 3>> kept_;  // orthonormal basis of the others
  std::array<double, 9> box_{};              // of the cut-outs
};

}  // namespace dptrain
