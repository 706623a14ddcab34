#pragma once

#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Pieces of extended XYZ files that are written. Numbers are the shortest that read back to the same bits.

/// Numbers with a blank between them.
std::string extxyz_numbers(const double *values, std::size_t n);

/// One line for each atom: element, position, and force [natoms][3] and its weight [natoms] where there are any.
std::string extxyz_atoms(const WholeFrame &frame, const std::vector<std::string> &elements,
                         const std::vector<double> &force = {},
                         const std::vector<double> &weight = {});

}  // namespace dptrain
