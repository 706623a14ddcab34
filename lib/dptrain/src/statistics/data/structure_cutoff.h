#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// The cutoff of a new model as it follows from structures: 2.6 times the distance of nearest neighbors, from 5 to 8 Angstrom in
/// steps of a half. bench/results/choices.md has the measurements.
struct StructureCutoff {
  double rcut = 6.0;  ///< Angstrom
  /// Of an atom to the nearest other one, both not hydrogen: the median over the frames, Angstrom. Nothing: there are no such
  /// neighbors, or it is not known which atoms are hydrogen.
  std::optional<double> nearest;
  std::string no_element;  ///< a name that is none; empty: all are
};

/// Throws Error as FrameSearch.
StructureCutoff cutoff_of_structures(const std::vector<WholeFrame> &frames,
                                     const std::vector<std::string> &type_map);

/// In words: "cutoff 7 Angstrom, by the distance of nearest neighbors (2.7 Angstrom)".
std::string text_of(const StructureCutoff &cutoff);

}  // namespace dptrain
