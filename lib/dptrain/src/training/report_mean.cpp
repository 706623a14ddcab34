#include "training/report_mean.h"

#include <cmath>
#include <limits>

namespace dptrain {

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

State ReportMean::Mean::state() const
{
  State state;
  state.set_number("sum", sum);
  state.set_number("weight", weight);
  return state;
}

ReportMean::Mean ReportMean::Mean::from(const State &state)
{
  return {state.number("sum"), state.number("weight")};
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

State ReportMean::state() const
{
  State state, terms;
  if (!any_) return state;
  state.set_integer("step", step_);
  state.set_number("learning_rate", learning_rate_);
  state.set_group("loss", loss_.state());
  for (const TermMeans &means : terms_) {
    State group;
    group.set_group("rmse", means.rmse.state());
    group.set_group("mae", means.mae.state());
    terms.set_group(means.term, std::move(group));
  }
  state.set_group("terms", std::move(terms));
  return state;
}

void ReportMean::set_state(const State &state)
{
  ReportMean mean;
  if (!state.empty()) {
    mean.any_ = true;
    mean.step_ = state.integer("step");
    mean.learning_rate_ = state.number("learning_rate");
    mean.loss_ = Mean::from(state.group("loss"));
    state.group("terms").for_each_group([&](const std::string &term, const State &means) {
      mean.terms_.push_back(
          {term, Mean::from(means.group("rmse")), Mean::from(means.group("mae"))});
    });
  }
  *this = std::move(mean);
}

}  // namespace dptrain
