#pragma once

#include <array>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// sum_i F_i (x) x_i in eV: the virial of atoms without cell, whose forces are [natoms][3].
std::array<double, 9> virial_of_forces(const std::vector<double> &force,
                                       const std::vector<double> &coord);

/// Takes the mean of each two components that should be the same.
void make_symmetric(std::array<double, 9> &virial);

/// Whether the zeros of a virial are those of a code that does not compute it; never for a frame without cell, where it
/// follows from the forces.
bool is_left_out(const std::array<double, 9> &virial, const std::vector<double> &force,
                 const WholeFrame &frame);

}  // namespace dptrain
