#include "training/loss.h"

#include <cmath>
#include <limits>
#include <string>

#include "dptrain/base/error.h"

namespace dptrain {

Prefactors prefactors_at(const LossConfig &config, double lr, double start_lr)
{
  const double fraction = lr / start_lr;
  const auto at = [fraction](double start, double limit) {
    return start != 0.0 && limit != 0.0 ? limit + (start - limit) * fraction : 0.0;
  };
  return {at(config.start_pref_e, config.limit_pref_e),
          at(config.start_pref_f, config.limit_pref_f),
          at(config.start_pref_v, config.limit_pref_v),
          at(config.start_pref_ae, config.limit_pref_ae),
          at(config.start_pref_pf, config.limit_pref_pf),
          at(config.start_pref_gf, config.limit_pref_gf)};
}

void Deviation::add(const Deviation &other)
{
  squares += other.squares;
  absolutes += other.absolutes;
  count += other.count;
}

double Deviation::rmse() const
{
  return count > 0.0 ? std::sqrt(squares / count) : std::numeric_limits<double>::quiet_NaN();
}

double Deviation::mae() const
{
  return count > 0.0 ? absolutes / count : std::numeric_limits<double>::quiet_NaN();
}

double Penalty::value(double x) const
{
  if (function == LossFunction::mse) return x * x;
  if (function == LossFunction::mae) return std::fabs(x);
  return std::fabs(x) <= delta ? 0.5 * x * x : delta * (std::fabs(x) - 0.5 * delta);
}

double Penalty::slope(double x) const
{
  if (function == LossFunction::mse) return 2.0 * x;
  const double sign = static_cast<double>((x > 0.0) - (x < 0.0));
  if (function == LossFunction::mae) return sign;
  return std::fabs(x) <= delta ? x : delta * sign;
}

namespace {

/// Factor and argument of the penalty of an error that grows with the number of atoms.
struct Extensive {
  double factor, scale;
  Extensive(const LossConfig &config, double weight, std::int64_t natoms)
  {
    const double n = static_cast<double>(natoms);
    const bool huber = config.function == LossFunction::huber;
    const bool squared = config.function == LossFunction::mse && config.intensive_ener_virial;
    scale = huber ? 1.0 / n : 1.0;
    factor = huber ? weight : weight / (squared ? n * n : n);
  }
};

void check(bool good, const std::string &message)
{
  if (!good) throw Error("loss: " + message);
}

}  // namespace

Loss::Loss(const LossConfig &config) : config_(config)
{
  const Prefactors active = prefactors_at(config, 1.0, 1.0);
  check(!config.f_use_norm || config.function != LossFunction::mse,
        "f_use_norm needs loss_func mae or use_huber");
  check(config.function != LossFunction::huber ||
            (active.atom_pref == 0.0 && active.generalized == 0.0 && !config.relative_f),
        "use_huber does not go with relative_f, nor with the terms pf and gf");
  check(active.generalized == 0.0 || config.numb_generalized_coord > 0,
        "the term gf needs numb_generalized_coord, which must be positive");
  check(!config.relative_f || *config.relative_f >= 0.0, "relative_f must not be negative");
  for (const double delta : config.huber_delta)
    check(delta > 0.0, "huber_delta must be positive, found " + std::to_string(delta));
}

double Loss::energy(double weight, std::int64_t natoms, double error, double &derivative) const
{
  const Extensive e(config_, weight, natoms);
  const Penalty penalty{config_.function, config_.huber_delta[0]};
  derivative = e.factor * e.scale * penalty.slope(e.scale * error);
  return e.factor * penalty.value(e.scale * error);
}

double Loss::virial(double weight, std::int64_t natoms, const std::array<double, 9> &error,
                    std::array<double, 9> &derivative) const
{
  const Extensive e(config_, weight / 9.0, natoms);
  const Penalty penalty{config_.function, config_.huber_delta[2]};
  double sum = 0.0;
  for (int k = 0; k < 9; ++k) {
    derivative[k] = e.factor * e.scale * penalty.slope(e.scale * error[k]);
    sum += penalty.value(e.scale * error[k]);
  }
  return e.factor * sum;
}

double Loss::atom_energies(double weight, std::int64_t natoms, std::size_t n, const double *label,
                           const char *has, double *energy, Deviation &deviation) const
{
  const Penalty penalty{config_.function, config_.huber_delta[0]};
  const double scale = weight / static_cast<double>(natoms);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double error = energy[i] - label[i];
    energy[i] = 0.0;
    if (!has[i]) continue;
    deviation.add(error);
    sum += penalty.value(error);
    energy[i] = scale * penalty.slope(error);
  }
  return scale * sum;
}

namespace {

double length_of(const double *v)
{
  return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// What the components of one atom's force error add to a term: the sum of penalties, slope[3] += its derivative.
double add_components(const Penalty &penalty, double scale, const double *error, double *slope)
{
  double sum = 0.0;
  for (int k = 0; k < 3; ++k) {
    sum += penalty.value(error[k]);
    slope[k] += scale * penalty.slope(error[k]);
  }
  return scale * sum;
}

/// The same of its length. At length zero the slope is taken as zero.
double add_length(const Penalty &penalty, double scale, const double *error, double *slope)
{
  const double length = length_of(error);
  if (length == 0.0) return 0.0;
  const double factor = scale * penalty.slope(length) / length;
  for (int k = 0; k < 3; ++k) slope[k] += factor * error[k];
  return scale * penalty.value(length);
}

}  // namespace

double Loss::forces(const Prefactors &weights, std::int64_t natoms, std::size_t n,
                    const double *label, const double *pref, double *force, Deviation &deviation,
                    Deviation &pref_deviation) const
{
  const Penalty penalty{config_.function, config_.huber_delta[1]};
  const double atoms = static_cast<double>(natoms);
  const bool lengths = config_.f_use_norm;
  const auto add = lengths ? add_length : add_components;
  const double scale = weights.force / (lengths ? atoms : 3.0 * atoms);
  const double pref_scale = weights.atom_pref / (3.0 * atoms);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i, label += 3, force += 3) {
    const double unit = config_.relative_f ? 1.0 / (length_of(label) + *config_.relative_f) : 1.0;
    const double error[3] = {unit * (force[0] - label[0]), unit * (force[1] - label[1]),
                             unit * (force[2] - label[2])};
    double slope[3] = {0.0, 0.0, 0.0};
    Deviation atom;
    for (const double e : error) atom.add(e);
    sum += add(penalty, scale, error, slope);
    if (pref) {
      sum += add_components(penalty, pref_scale * pref[i], error, slope);
      pref_deviation.add({pref[i] * atom.squares, pref[i] * atom.absolutes, 3.0});
    }
    // as DeePMD-kit shows it
    if (lengths && penalty.function == LossFunction::mae) atom.absolutes = 3.0 * length_of(error);
    deviation.add(atom);
    for (int k = 0; k < 3; ++k) force[k] = unit * slope[k];
  }
  return sum;
}

void Loss::generalized_errors(std::size_t n, const double *drdq, const double *label,
                              const double *force, double *error) const
{
  const std::size_t coordinates = config_.numb_generalized_coord;
  for (std::size_t k = 0; k < 3 * n; ++k)
    for (std::size_t q = 0; q < coordinates; ++q)
      error[q] += drdq[k * coordinates + q] * (force[k] - label[k]);
}

double Loss::generalized_forces(double weight, std::size_t n, const double *drdq,
                                const double *error, double *residual) const
{
  const std::size_t coordinates = config_.numb_generalized_coord;
  const double scale = weight / static_cast<double>(coordinates);
  double sum = 0.0;
  for (std::size_t q = 0; q < coordinates; ++q) sum += error[q] * error[q];
  for (std::size_t k = 0; k < 3 * n; ++k)
    for (std::size_t q = 0; q < coordinates; ++q)
      residual[k] += 2.0 * scale * error[q] * drdq[k * coordinates + q];
  return scale * sum;
}

}  // namespace dptrain
