#pragma once

#include <array>
#include <vector>

namespace dptrain {

/// A cell for a frame that repeats itself in one or two of its directions only: the edges of the others are replaced by
/// vectors perpendicular to the rest, so long that 100 Angstrom of vacuum stand between a slab (or wire) and its image.
/// No cutoff reaches over this, so energy and forces are those without images. `box`: rows a, b, c; what stands in rows
/// that are not periodic is not used. `coord`: [natoms][3].
std::array<double, 9> add_vacuum(const std::array<double, 9> &box,
                                 const std::array<bool, 3> &periodic,
                                 const std::vector<double> &coord);

}  // namespace dptrain
