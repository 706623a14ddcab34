#pragma once

#include "dptrain/frames/frame.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// The atom's part in its frame's energy: its coefficient, where the frame has them and they are to be used, or 1; 0 for
/// atoms without energy.
double coefficient_of(const Model &model, const Frame &frame, int atom, bool use_coefficients);

/// Adds this rank's coefficients to counts[ntypes] by type.
void add_coefficients(const Model &model, const Frame &frame, bool use_coefficients,
                      double *counts);

/// This rank's part of sum_i coefficient_i (E_i - energy bias), which is the energy of the network; atom_energy[nlocal].
double network_energy(const Model &model, const Frame &frame, bool use_coefficients,
                      const double *atom_energy);

}  // namespace dptrain
