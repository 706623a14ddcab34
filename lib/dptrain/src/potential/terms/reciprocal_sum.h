#pragma once

#include <array>

#include <ATen/core/Tensor.h>

namespace dptrain {

/// Energy of charges that are smeared as Gaussians, in a periodic cell, without what a charge does to itself:
///
///   E = C sum_k w(k) |S(k)|^2 - s sum_i q_i^2,   S(k) = sum_i q_i exp(i k r_i),   C = 4 pi e^2 / (4 pi eps0) / V,
///   w(k) = exp(-(sigma k)^2 / 2) / k^2,   s = e^2 / (4 pi eps0) / (sqrt(2 pi) sigma),
///
/// over half of the k with 0 < |k| < 4.5 / sigma, whose remainder is 1e-4 of the forces (latent Ewald summation, Cheng,
/// npj Comput. Mater. 11, 80 (2025); Ewald 1921). Two charges far from each other have q_i q_j erf(r / (sqrt(2) sigma)) / r. A
/// background neutralizes what is charged.
///
/// exp(i k r) is a product of powers along the three axes of the cell, so that all sums are products of complex matrices. Atoms may
/// be divided over ranks: the sums S are those of all, everything else is local. Tensors are float64, where the atoms are.
class ReciprocalSum {
 public:
  /// box: rows a, b, c, Angstrom; sigma: Angstrom.
  ReciprocalSum(const std::array<double, 9> &box, double sigma, const at::TensorOptions &options);

  /// Charges of atoms, with tables of their phases.
  struct Atoms {
    at::Tensor charge;       ///< [n] e
    at::Tensor fractional;   ///< [n][3]
    at::Tensor plane, line;  ///< complex [n][pairs of the first two axes], [n][third axis]
  };
  /// x: [n][3] Angstrom.
  Atoms atoms(const at::Tensor &x, const at::Tensor &charge) const;
  /// S, complex, as one real tensor [...][2]: to be added up over the ranks that have atoms of the frame.
  at::Tensor structure(const Atoms &atoms) const;

  struct Derivatives {
    at::Tensor potential;  ///< [n] dE/dq_i, V; sum q_i potential_i / 2 over all atoms is E
    at::Tensor gradient;   ///< [n][3] dE/dr_i at fixed charges, eV/Angstrom
  };
  Derivatives derivatives(const Atoms &atoms, const at::Tensor &sum) const;
  /// The share of these atoms in -dE/dstrain at fixed charges, eV. own: their S.
  std::array<double, 9> virial(const at::Tensor &sum, const at::Tensor &own) const;
  /// [n][9] The same, divided among the atoms: each has its charge's share.
  at::Tensor virials(const Atoms &atoms, const at::Tensor &sum) const;

  /// How S changes along a direction of the atoms, v [n][3] Angstrom, and of their charges, dq [n] e; undefined: they stay. For the
  /// sum over ranks, too.
  at::Tensor structure_tangent(const Atoms &atoms, const at::Tensor &v, const at::Tensor &dq) const;
  /// [n] How the potential changes along that direction and with the strain of the cell, row-major; it is d(E_dot)/dq_i, where
  /// E_dot is how E changes.
  at::Tensor potential_tangent(const Atoms &atoms, const at::Tensor &v, const at::Tensor &dq,
                               const std::array<double, 9> &strain, const at::Tensor &sum,
                               const at::Tensor &sum_tangent) const;

 private:
  at::Tensor fractional_of(const at::Tensor &v) const;
  at::Tensor weight_tangent(const std::array<double, 9> &strain) const;
  /// complex [2][n][pairs]: sum over the third axis of coefficients times phases, and times its number.
  at::Tensor along_line(const Atoms &atoms, const at::Tensor &coefficient) const;
  /// [3][n] Im sum_k n_d(k) coefficient(k) exp(i k r), n: the numbers of k.
  at::Tensor moments(const Atoms &atoms, const at::Tensor &lines) const;

  double sigma_, scale_, self_;
  at::Tensor to_fractional_;               // [3][3]: fractional = x times it
  at::Tensor along_first_, along_second_;  // all numbers of k along the first two axes
  at::Tensor first_place_, second_place_;  // [pairs] where those of a pair are among them
  at::Tensor first_, second_;              // [pairs] numbers of k along the first two axes
  at::Tensor third_;                       // [third axis]
  std::array<at::Tensor, 3> wave_;         // [pairs][third axis] components of k, 1/Angstrom
  at::Tensor weight_, slope_;              // [pairs][third axis] w, sigma^2 + 2/k^2
};

}  // namespace dptrain
