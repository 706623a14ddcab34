#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "training/loss/terms.h"

namespace dptrain {

namespace {

/// Sums: the errors of the generalized forces g = drdq^T F. They always count squared, also in reports.
class GeneralizedForceTerm : public LossTerm {
 public:
  explicit GeneralizedForceTerm(const LossConfig &config) :
      LossTerm({"gf", "drdq", config.prefactor("gf"), false, true}),
      coordinates_(config.numb_generalized_coord)
  {
    if (config.numb_generalized_coord < 1)
      throw Error("loss: the term gf needs numb_generalized_coord, which must be positive");
  }

  bool has_label(const Label &label) const override
  {
    return !label.drdq.empty() && !label.force.empty();
  }

  void check(const Frame &frame) const override
  {
    const std::size_t expected = std::size_t(frame.nlocal) * 3 * coordinates_;
    if (frame.label.drdq.size() != expected)
      throw Error(fmt::format("The frame of step {} has {} numbers of drdq for {} atoms; "
                              "numb_generalized_coord = {} needs {}",
                              frame.step, frame.label.drdq.size(), frame.nlocal, coordinates_,
                              expected));
  }

  std::size_t num_sums(const Model &) const override { return coordinates_; }

  void add_sums(const Prediction &here, double *sums) const override
  {
    const Label &label = here.frame.label;
    for (std::size_t k = 0; k < label.force.size(); ++k)
      for (std::size_t q = 0; q < coordinates_; ++q)
        sums[q] += label.drdq[k * coordinates_ + q] * (here.force[k] - label.force[k]);
  }

  double value(const Prediction &, const double *sums, Deviation &errors) const override
  {
    double sum = 0.0;
    for (std::size_t q = 0; q < coordinates_; ++q) {
      errors.add(sums[q]);
      sum += sums[q] * sums[q];
    }
    return sum / static_cast<double>(coordinates_);
  }

  void add_residual(const Prediction &here, const double *sums, double weight,
                    Residual &residual) const override
  {
    const Label &label = here.frame.label;
    const double scale = 2.0 * weight / static_cast<double>(coordinates_);
    for (std::size_t k = 0; k < label.force.size(); ++k)
      for (std::size_t q = 0; q < coordinates_; ++q)
        residual.force[k] += scale * sums[q] * label.drdq[k * coordinates_ + q];
  }

 private:
  std::size_t coordinates_;
};

}  // namespace

std::unique_ptr<LossTerm> make_generalized_force_term(const LossConfig &config)
{
  return std::make_unique<GeneralizedForceTerm>(config);
}

}  // namespace dptrain
