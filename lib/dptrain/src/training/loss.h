#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dptrain/config.h"

namespace dptrain {

/// Weights of the three terms of the loss at one step; zero: the term is off.
struct Prefactors {
  double energy = 0.0, force = 0.0, virial = 0.0;
};

/// DeePMD-kit's law p = limit + (start - limit) * lr / start_lr. A term whose start or limit prefactor is zero is off.
Prefactors prefactors_at(const LossConfig &config, double lr, double start_lr);

// The terms of DeePMD-kit's loss `ener` (mean squares) for one frame of natoms atoms. `weight` is the prefactor divided by
// the number of frames of the batch. Each returns its part of the loss and gives the derivatives that pass B needs.
// A variant of the loss (huber, mae) is another set of these three functions.

/// weight * error^2 / natoms; derivative = dL/dE. error in eV.
double energy_term(double weight, std::int64_t natoms, double error, double &derivative);

/// weight * mean over 9 of error^2 / natoms; derivative = dL/dW. error in eV.
double virial_term(double weight, std::int64_t natoms, const std::array<double, 9> &error,
                   std::array<double, 9> &derivative);

/// This rank's part of weight * mean over 3 natoms components of (force - label)^2. On return force[n] holds dL/dF;
/// sum_of_squares that of the errors, in (eV/Angstrom)^2.
double force_term(double weight, std::int64_t natoms, std::size_t n, const double *label,
                  double *force, double &sum_of_squares);

}  // namespace dptrain
