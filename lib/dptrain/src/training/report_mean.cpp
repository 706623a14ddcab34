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

}  // namespace dptrain
