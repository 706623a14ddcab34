#include "training/loss/atom_energies.h"
#include "training/loss/penalty.h"
#include "training/loss/terms.h"

namespace dptrain {

namespace {

/// Sums: the penalties, and a Deviation.
class AtomEnergyTerm : public LossTerm {
 public:
  explicit AtomEnergyTerm(const LossConfig &config) :
      LossTerm(
          {"ae", "atomic energies", config.prefactor("ae"), config.function == LossFunction::mae}),
      penalty_{config.function, config.huber_delta[0]}
  {
  }

  bool has_label(const Label &label) const override { return !label.atom_energy.empty(); }
  bool uses_atom_energies(const Label &label) const override { return has_label(label); }
  std::size_t num_sums(const Model &) const override { return 4; }

  void add_sums(const Prediction &here, double *sums) const override
  {
    double penalties = 0.0;
    Deviation deviation;
    for_each_error(here, [&](int, double error) {
      penalties += penalty_.value(error);
      deviation.add(error);
    });
    sums[0] += penalties;
    sums[1] += deviation.squares;
    sums[2] += deviation.absolutes;
    sums[3] += deviation.count;
  }

  double value(const Prediction &here, const double *sums, Deviation &errors) const override
  {
    errors.add({sums[1], sums[2], sums[3]});
    return sums[0] / static_cast<double>(here.frame.natoms);
  }

  void add_residual(const Prediction &here, const double *, double weight,
                    Residual &residual) const override
  {
    const double scale = weight / static_cast<double>(here.frame.natoms);
    for_each_error(here, [&](int i, double error) {
      residual.atom_energy[i] += scale * penalty_.slope(error);
    });
  }

 private:
  /// Of the atoms that have an energy.
  template <class Work> void for_each_error(const Prediction &here, Work work) const
  {
    for (int i = 0; i < here.frame.nlocal; ++i)
      if (coefficient_of(here.model, here.frame, i, false) != 0.0)
        work(i, here.atom_energy[i] - here.frame.label.atom_energy[i]);
  }

  Penalty penalty_;
};

}  // namespace

std::unique_ptr<LossTerm> make_atom_energy_term(const LossConfig &config)
{
  return std::make_unique<AtomEnergyTerm>(config);
}

}  // namespace dptrain
