#pragma once

#include <memory>

#include "training/loss/loss_term.h"

// The makers of the terms, for make_loss_terms; each is in the file of its term.

namespace dptrain {

/// `e`: the energy of the frame, or with enable_atom_ener_coeff the sum of its atomic energies times their coefficients.
std::unique_ptr<LossTerm> make_energy_term(const LossConfig &config);
/// `v`: the mean over the nine components of the virial.
std::unique_ptr<LossTerm> make_virial_term(const LossConfig &config);
/// `f`: the mean over all components of the forces, or with f_use_norm over their lengths.
std::unique_ptr<LossTerm> make_force_term(const LossConfig &config);
/// `pf`: the mean over all components of the forces, each times the atom's atom_pref.
std::unique_ptr<LossTerm> make_weighted_force_term(const LossConfig &config);
/// `gf`: the mean over the generalized forces drdq^T F.
std::unique_ptr<LossTerm> make_generalized_force_term(const LossConfig &config);
/// `ae`: the mean over the atoms of the penalty of their energies; atoms without energy add nothing.
std::unique_ptr<LossTerm> make_atom_energy_term(const LossConfig &config);

}  // namespace dptrain
