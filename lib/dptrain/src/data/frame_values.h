#pragma once

#include <array>
#include <string>

namespace dptrain {

/// Throws Error that starts with `where` if one of the numbers is infinite or not a number. `per_atom`: so many of them
/// belong to one atom, 0 if they belong to the frame.
void expect_finite(const double *values, std::size_t count, std::size_t per_atom,
                   const std::string &where);

/// Throws Error that starts with `where` if the cell [3][3] (rows a, b, c) has no volume.
void expect_volume(const std::array<double, 9> &box, const std::string &where);

/// Volume of a cell, negative for a left-handed one.
double volume_of(const std::array<double, 9> &box);

}  // namespace dptrain
