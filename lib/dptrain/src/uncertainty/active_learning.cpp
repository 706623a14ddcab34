#include "dptrain/uncertainty/active_learning.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"

namespace dptrain {

namespace {

constexpr std::size_t memory = 10;    // answers behind the error that was reached
constexpr std::size_t ranked = 50;    // answers behind the rank correlation
constexpr std::size_t covered = 30;   // answers whose errors are compared with their bars
constexpr double auto_factor = 1.5;   // of the largest bar of what is known
constexpr double auto_floor = 0.25;   // of the forces
constexpr double limit_factor = 3.0;  // thresholds
constexpr double late_factor = 1.5;   // ditto, while a model is growing whose labels come later
constexpr std::int64_t growing_answers =
    50;  // until then the automatic threshold is bounded by the forces

// The same draw for a step in every run and on every rank.
bool is_audit(std::uint64_t seed, std::int64_t step, std::int64_t mean_interval)
{
  RandomEngine random = numbered_engine(seed, static_cast<std::uint64_t>(step));
  return random_uniform(random) * static_cast<double>(mean_interval) < 1.0;
}

double median(std::vector<double> values)
{
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

// Appends, and forgets what is older than the latest `most`.
void remember(std::vector<double> &values, double value, std::size_t most)
{
  values.push_back(value);
  if (values.size() > most) values.erase(values.begin());
}

}  // namespace

std::string name_of(Ask ask)
{
  switch (ask) {
  case Ask::no:
    return "no";
  case Ask::prepare:
    return "prepare";
  case Ask::early:
    return "early";
  case Ask::threshold:
    return "threshold";
  case Ask::limit:
    return "limit";
  case Ask::wall:
    return "wall";
  case Ask::audit:
    return "audit";
  case Ask::rewind:
    return "rewind";
  }
  return "";
}

ActiveLearning::ActiveLearning(const ActiveConfig &config) :
    config_(config), calibration_(config.coverage, BarCalibration::Memory())
{
}

ErrorBars ActiveLearning::bars(std::size_t ntypes) const
{
  if (calibration_.count() < 3 && given_.is_known()) return given_;
  return calibration_.bars(ntypes, "labels before they were learned");
}

void ActiveLearning::rescale(double factor)
{
  calibration_.rescale(factor);
  for (double &scale : given_.scale) scale *= factor;
  known_bar_ *= factor;
}

BarCoverage ActiveLearning::coverage() const
{
  BarCoverage sum;
  for (const BarCoverage &one : coverage_) sum.add(one.numbers());
  return sum;
}

std::int64_t ActiveLearning::missing_labels() const
{
  return std::max<std::int64_t>(frames_for(config_.coverage) - calibration_.count(), 0);
}

Ask ActiveLearning::decide(std::int64_t step, bool due, double expected, bool close) const
{
  if (is_early()) return due ? Ask::early : Ask::no;
  if (!(expected <= limit())) return Ask::limit;  // also where it is not a number
  if (close) return Ask::wall;
  if (due && expected > threshold()) return Ask::threshold;
  if (config_.audit > 0 && is_audit(config_.seed, step, config_.audit)) return Ask::audit;
  return Ask::no;
}

bool ActiveLearning::is_growing() const
{
  return answers_ < growing_answers;
}

double ActiveLearning::threshold() const
{
  if (config_.threshold > 0.0) return config_.threshold;
  const double known = auto_factor * known_bar_;
  if (!(known > 0.0)) return force_;
  const double automatic = std::max(known, auto_floor * force_);
  return is_growing() && force_ > 0.0 ? std::min(automatic, force_) : automatic;
}

double ActiveLearning::reached_error() const
{
  return reached_.empty() ? 0.0 : median(reached_);
}

double ActiveLearning::limit() const
{
  const bool cautious = config_.limit == 0.0 && config_.late && is_growing();
  return cautious ? late_factor * threshold() : trouble();
}

double ActiveLearning::trouble() const
{
  return config_.limit > 0.0 ? config_.limit : limit_factor * threshold();
}

void ActiveLearning::compare(const Comparison &comparison, Ask ask, double force)
{
  const double expected = comparison.expected;
  coverage_.emplace_back().add(comparison.atoms);
  if (coverage_.size() > covered) coverage_.erase(coverage_.begin());
  if (expected > 0.0 && std::isfinite(expected)) {
    remember(expected_, expected, ranked);
    remember(found_, comparison.max_error, ranked);
  }
  if (ask == Ask::audit) {
    ++audits_;
    audits_above_ += comparison.max_error > threshold();
    audits_far_above_ += comparison.max_error > limit_factor * threshold();
    learned(comparison.max_error);
  }
  calibration_.add(comparison.atoms);
  force_ = force;
  ++answers_;
}

void ActiveLearning::learned(double max_error)
{
  remember(reached_, max_error, memory);
}

double ActiveLearning::rank_correlation() const
{
  return expected_.size() < 3 ? 0.0 : dptrain::rank_correlation(expected_, found_);
}

std::string ActiveLearning::damage() const
{
  const auto is_bad = [](double number) { return !std::isfinite(number) || number < 0.0; };
  for (const auto *errors : {&reached_, &expected_, &found_})
    if (std::any_of(errors->begin(), errors->end(), is_bad))
      return "an error is negative or not finite";
  for (const std::int64_t count : {answers_, audits_, audits_above_, audits_far_above_})
    if (count < 0) return "a number of answers is negative";
  if (is_bad(force_) || is_bad(known_bar_)) return "a mean is negative or not finite";
  for (const BarCoverage &one : coverage_)
    if (!one.damage().empty()) return one.damage();
  if (reached_.size() > memory || coverage_.size() > covered || expected_.size() > ranked ||
      expected_.size() != found_.size())
    return fmt::format("{} reached, {} expected and {} true errors", reached_.size(),
                       expected_.size(), found_.size());
  return "";
}

}  // namespace dptrain
