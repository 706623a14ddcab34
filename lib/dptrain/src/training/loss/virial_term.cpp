#include "training/loss/penalty.h"
#include "training/loss/terms.h"

namespace dptrain {

namespace {

/// Sums: the virial.
class VirialTerm : public LossTerm {
 public:
  explicit VirialTerm(const LossConfig &config) :
      LossTerm({"v", "virials", config.prefactor("v"), config.function == LossFunction::mae}),
      config_(config)
  {
  }

  bool has_label(const Label &label) const override { return label.virial.has_value(); }
  std::size_t num_sums(const Model &) const override { return components; }

  void add_sums(const Prediction &here, double *sums) const override
  {
    for (std::size_t k = 0; k < components; ++k) sums[k] += here.virial[k];
  }

  double value(const Prediction &here, const double *sums, Deviation &errors) const override
  {
    double sum = 0.0;
    for (std::size_t k = 0; k < components; ++k) {
      const double error = sums[k] - (*here.frame.label.virial)[k];
      errors.add(error / static_cast<double>(here.frame.natoms));
      sum += penalty(here.frame).value(error);
    }
    return sum / components;
  }

  void add_residual(const Prediction &here, const double *sums, double weight,
                    Residual &residual) const override
  {
    for (std::size_t k = 0; k < components; ++k)
      residual.virial[k] +=
          weight / components * penalty(here.frame).slope(sums[k] - (*here.frame.label.virial)[k]);
  }

 private:
  static constexpr std::size_t components = 9;
  ExtensivePenalty penalty(const Frame &frame) const
  {
    return {config_, config_.huber_delta[2], frame.natoms};
  }

  LossConfig config_;
};

}  // namespace

std::unique_ptr<LossTerm> make_virial_term(const LossConfig &config)
{
  return std::make_unique<VirialTerm>(config);
}

}  // namespace dptrain
