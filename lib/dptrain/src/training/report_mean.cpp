#include "training/report_mean.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace dptrain {

namespace {

const char *const TERMS[] = {"e", "f", "v", "ae", "pf", "gf"};  // of a state

}  // namespace

void ReportMean::Mean::add(double value, double weight_of_it)
{
  if (std::isnan(value)) return;
  sum += weight_of_it * value;
  weight += weight_of_it;
}

double ReportMean::Mean::value() const
{
  return weight > 0.0 ? sum / weight : std::numeric_limits<double>::quiet_NaN();
}

ReportMean::TermMeans &ReportMean::means_of(const std::string &term)
{
  for (TermMeans &means : terms_)
    if (means.term == term) return means;
  terms_.push_back({term, {}, {}});
  return terms_.back();
}

void ReportMean::add(const UpdateReport &report, double weight)
{
  any_ = true;
  step_ = report.step;
  learning_rate_ = report.learning_rate;
  loss_.add(std::sqrt(report.loss), weight);
  for (const TermErrors &errors : report.terms) {
    TermMeans &means = means_of(errors.term);
    means.rmse.add(errors.rmse, weight);
    means.mae.add(errors.mae, weight);
  }
}

UpdateReport ReportMean::mean() const
{
  UpdateReport mean;
  mean.step = step_;
  mean.learning_rate = learning_rate_;
  mean.loss = loss_.value() * loss_.value();
  for (const TermMeans &means : terms_)
    mean.terms.push_back({means.term, means.rmse.value(), means.mae.value()});
  return mean;
}

std::vector<double> ReportMean::state() const
{
  if (!any_) return {};
  ReportMean all = *this;
  std::vector<double> state{static_cast<double>(step_), learning_rate_, loss_.sum, loss_.weight};
  for (const auto part : {&TermMeans::rmse, &TermMeans::mae})
    for (const char *term : TERMS)
      for (const double number :
           {(all.means_of(term).*part).sum, (all.means_of(term).*part).weight})
        state.push_back(number);
  return state;
}

bool ReportMean::set_state(const std::vector<double> &state)
{
  if (!state.empty() && state.size() != 4 + 4 * std::size(TERMS)) return false;
  *this = ReportMean();
  if (state.empty()) return true;
  any_ = true;
  step_ = static_cast<std::int64_t>(state[0]);
  learning_rate_ = state[1];
  loss_ = {state[2], state[3]};
  auto number = state.begin() + 4;
  for (const auto part : {&TermMeans::rmse, &TermMeans::mae})
    for (const char *term : TERMS) {
      means_of(term).*part = {number[0], number[1]};
      number += 2;
    }
  return true;
}

}  // namespace dptrain
