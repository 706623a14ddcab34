#include "training/report_mean.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace dptrain {

namespace {

constexpr double UpdateReport::*ERRORS[] = {
    &UpdateReport::loss,    &UpdateReport::rmse_e,  &UpdateReport::rmse_f,  &UpdateReport::rmse_v,
    &UpdateReport::rmse_ae, &UpdateReport::rmse_pf, &UpdateReport::rmse_gf, &UpdateReport::mae_e,
    &UpdateReport::mae_f,   &UpdateReport::mae_v,   &UpdateReport::mae_ae,  &UpdateReport::mae_pf,
    &UpdateReport::mae_gf};

}  // namespace

void ReportMean::add(const UpdateReport &report, double weight)
{
  UpdateReport values = report;
  values.loss = std::sqrt(report.loss);
  for (const auto error : ERRORS) {
    if (std::isnan(values.*error)) continue;
    sums_.*error += weight * (values.*error);
    weights_.*error += weight;
  }
  sums_.step = report.step;
  sums_.learning_rate = report.learning_rate;
  any_ = true;
}

UpdateReport ReportMean::mean() const
{
  UpdateReport mean = sums_;
  for (const auto error : ERRORS)
    mean.*error = weights_.*error > 0.0 ? sums_.*error / weights_.*error
                                        : std::numeric_limits<double>::quiet_NaN();
  mean.loss *= mean.loss;
  return mean;
}

std::vector<double> ReportMean::state() const
{
  if (!any_) return {};
  std::vector<double> state{static_cast<double>(sums_.step), sums_.learning_rate};
  for (const auto error : ERRORS) {
    state.push_back(sums_.*error);
    state.push_back(weights_.*error);
  }
  return state;
}

bool ReportMean::set_state(const std::vector<double> &state)
{
  if (state.empty()) {
    *this = ReportMean();
    return true;
  }
  if (state.size() != 2 + 2 * std::size(ERRORS)) return false;
  any_ = true;
  sums_.step = static_cast<std::int64_t>(state[0]);
  sums_.learning_rate = state[1];
  auto number = state.begin() + 2;
  for (const auto error : ERRORS) {
    sums_.*error = *number++;
    weights_.*error = *number++;
  }
  return true;
}

}  // namespace dptrain
