#include <cmath>

#include "training/loss/penalty.h"
#include "training/loss/terms.h"

namespace dptrain {

namespace {

double length_of(const double *v)
{
  return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// The terms f and pf. Sums: the penalties, a Deviation, and the atoms with a force_weight. The errors are divided by |label| + relative_f where that is
/// set. With force_weight in the label all means are over the forces that count: a cut-out of which few atoms count would
/// otherwise teach the less, the more atoms surround them.
class ForceTerm : public LossTerm {
 public:
  ForceTerm(const LossConfig &config, Traits traits, bool weighted) :
      LossTerm(std::move(traits)),
      penalty_{config.function, config.huber_delta[1]},
      relative_(config.relative_f),
      weighted_(weighted),
      default_weight_(config.use_default_pf),
      lengths_(config.f_use_norm && !weighted)
  {
  }

  bool has_label(const Label &label) const override
  {
    return !label.force.empty() && (!weighted_ || default_weight_ || !label.atom_pref.empty());
  }
  std::size_t num_sums(const Model &) const override { return 5; }

  void add_sums(const Prediction &here, double *sums) const override
  {
    double penalties = 0.0;
    Deviation deviation;
    for (int i = 0; i < here.frame.nlocal; ++i) {
      const Error error = error_of(here, i);
      const double counts = share_of(here.frame.label, i);
      const double weight = counts * weight_of(here.frame.label, i);
      const double length = lengths_ ? length_of(error.value) : 0.0;
      Deviation atom;
      for (const double e : error.value) atom.add(e);
      // as DeePMD-kit shows it
      if (lengths_ && penalty_.function == LossFunction::mae) atom.absolutes = 3.0 * length;
      deviation.add({weight * atom.squares, weight * atom.absolutes, counts * atom.count});
      if (lengths_)
        penalties += weight * penalty_.value(length);
      else
        for (const double e : error.value) penalties += weight * penalty_.value(e);
    }
    sums[0] += penalties;
    sums[1] += deviation.squares;
    sums[2] += deviation.absolutes;
    sums[3] += deviation.count;
    sums[4] += static_cast<double>(here.frame.label.force_weight.size());
  }

  double value(const Prediction &here, const double *sums, Deviation &errors) const override
  {
    errors.add({sums[1], sums[2], sums[3]});
    return sums[0] / count(here.frame, sums);
  }

  void add_residual(const Prediction &here, const double *sums, double weight,
                    Residual &residual) const override
  {
    const double mean = weight / count(here.frame, sums);
    for (int i = 0; i < here.frame.nlocal; ++i) {
      const double scale = mean * share_of(here.frame.label, i);
      const Error error = error_of(here, i);
      double *r = residual.force + 3 * i;
      if (lengths_) {
        const double length = length_of(error.value);
        if (length == 0.0) continue;  // no direction: the slope is taken as zero
        const double factor = error.unit * scale * penalty_.slope(length) / length;
        for (int k = 0; k < 3; ++k) r[k] += factor * error.value[k];
      } else {
        const double factor = error.unit * scale * weight_of(here.frame.label, i);
        for (int k = 0; k < 3; ++k) r[k] += factor * penalty_.slope(error.value[k]);
      }
    }
  }

 private:
  struct Error {
    double unit, value[3];  ///< unit: factor by which the value changes with the force
  };
  Error error_of(const Prediction &here, int atom) const
  {
    const double *force = here.force + 3 * atom, *label = &here.frame.label.force[3 * atom];
    const double unit = relative_ ? 1.0 / (length_of(label) + *relative_) : 1.0;
    return {
        unit,
        {unit * (force[0] - label[0]), unit * (force[1] - label[1]), unit * (force[2] - label[2])}};
  }
  double weight_of(const Label &label, int atom) const
  {
    return weighted_ && !label.atom_pref.empty() ? label.atom_pref[atom] : 1.0;
  }
  static double share_of(const Label &label, int atom)
  {
    return label.force_weight.empty() ? 1.0 : label.force_weight[atom];
  }
  /// Of what the mean is over: components, or atoms.
  double count(const Frame &frame, const double *sums) const
  {
    const double components = sums[4] > 0.0 ? sums[3] : 3.0 * static_cast<double>(frame.natoms);
    return lengths_ ? components / 3.0 : components;
  }

  Penalty penalty_;
  std::optional<double> relative_;
  bool weighted_, default_weight_, lengths_;
};

}  // namespace

std::unique_ptr<LossTerm> make_force_term(const LossConfig &config)
{
  const bool mae = config.function == LossFunction::mae;
  return std::make_unique<ForceTerm>(
      config, LossTerm::Traits{"f", "forces", config.prefactor("f"), mae, true}, false);
}

std::unique_ptr<LossTerm> make_weighted_force_term(const LossConfig &config)
{
  const bool mae = config.function == LossFunction::mae;
  return std::make_unique<ForceTerm>(
      config, LossTerm::Traits{"pf", "atom_pref", config.prefactor("pf"), mae, true}, true);
}

}  // namespace dptrain
