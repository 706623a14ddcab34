#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dptrain/frames/frame.h"
#include "dptrain/input/config.h"

namespace dptrain {

/// Weights of the terms of the loss at one step; zero: the term is off.
struct Prefactors {
  double energy = 0.0, force = 0.0, virial = 0.0;
  double atom_energy = 0.0, atom_pref = 0.0, generalized = 0.0;
};

/// DeePMD-kit's law p = limit + (start - limit) * lr / start_lr. A term whose start or limit prefactor is zero is off.
Prefactors prefactors_at(const LossConfig &config, double lr, double start_lr);

/// Sums over errors x of one kind: of x^2, of |x|, and their number.
struct Deviation {
  double squares = 0.0, absolutes = 0.0, count = 0.0;
  void add(double error)
  {
    squares += error * error;
    absolutes += error < 0.0 ? -error : error;
    count += 1.0;
  }
  void add(const Deviation &other);
  double rmse() const;  ///< NaN without an error
  double mae() const;
};

/// What one number adds to the loss: x^2, |x|, or x^2/2 up to delta and delta (|x| - delta/2) beyond.
struct Penalty {
  LossFunction function;
  double delta;
  double value(double x) const;
  double slope(double x) const;
};

/// The terms of DeePMD-kit's loss `ener` for one frame of natoms atoms. A weight is the prefactor divided by the number of
/// frames of the batch. Each function returns its part of the loss and gives the derivatives that pass B needs.
class Loss {
 public:
  /// Throws Error where settings contradict each other.
  explicit Loss(const LossConfig &config);

  /// weight * error^2 / natoms (intensive: natoms^2), |error| / natoms, or Huber of error / natoms; derivative = dL/dE.
  /// error in eV.
  double energy(double weight, std::int64_t natoms, double error, double &derivative) const;
  /// The same, as the mean over the 9 components; derivative = dL/dW.
  double virial(double weight, std::int64_t natoms, const std::array<double, 9> &error,
                std::array<double, 9> &derivative) const;

  // This rank's part of terms that are sums over the atoms; n atoms are here.

  /// weight * mean over natoms atoms of the penalty of E_i - label_i. energy[n] becomes dL/dE_i where the atom has an
  /// energy (has[n] != 0; others are left out).
  double atom_energies(double weight, std::int64_t natoms, std::size_t n, const double *label,
                       const char *has, double *energy, Deviation &deviation) const;
  /// Mean over 3 natoms components of penalty(force - label), or over natoms atoms of that of its length, weighted by
  /// weights.force, and the same times atom_pref weighted by weights.atom_pref. force[3 n] becomes dL/dF. The errors are
  /// divided by |label| + relative_f where that is set. pref[n] may be null: no second term.
  double forces(const Prefactors &weights, std::int64_t natoms, std::size_t n, const double *label,
                const double *pref, double *force, Deviation &deviation,
                Deviation &pref_deviation) const;

  /// Generalized forces g = drdq^T F: adds this rank's part of their errors to error[numb_generalized_coord].
  void generalized_errors(std::size_t n, const double *drdq, const double *label,
                          const double *force, double *error) const;
  /// weight * mean of error^2, for the errors of the whole frame. residual[3 n] += dL/dF.
  double generalized_forces(double weight, std::size_t n, const double *drdq, const double *error,
                            double *residual) const;

  const LossConfig &config() const { return config_; }

 private:
  LossConfig config_;
};

}  // namespace dptrain
