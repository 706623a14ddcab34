#include "dptrain/uncertainty/active_learning.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"

namespace dptrain {

namespace {

constexpr std::size_t ranked = 50;       // answers behind the rank correlation
constexpr std::size_t covered = 30;      // answers whose errors are compared with their bars
constexpr double new_factor = 1.5;       // of the largest bar of what was learned: this is new
constexpr double limit_factor = 3.0;     // thresholds
constexpr double late_factor = 1.5;      // ditto, while a model is growing whose labels come later
constexpr std::int64_t few_answers = 3;  // with forces, among them
constexpr std::int64_t few_frames = 20;  // more of them help
// Part of the error that is wanted. What is new has one and a half times the error of what is learned where labels no longer help, and
// more where they do (bench/results/accuracy.md).
constexpr double out_of_reach = 2.0 / 3.0;

// The same draw for a step in every run and on every rank.
bool is_audit(std::uint64_t seed, std::int64_t step, std::int64_t mean_interval)
{
  RandomEngine random = numbered_engine(seed, static_cast<std::uint64_t>(step));
  return random_uniform(random) * static_cast<double>(mean_interval) < 1.0;
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
  learned_.bar *= factor;
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

bool ActiveLearning::is_out_of_reach() const
{
  return learned_.frames >= few_frames && learned_.error > out_of_reach * wanted_error();
}

double ActiveLearning::threshold() const
{
  const double wanted = threshold_of(wanted_error());
  return is_out_of_reach() ? std::max(wanted, new_factor * learned_.bar) : wanted;
}

bool ActiveLearning::is_wrong(double rms, double largest) const
{
  const bool is_known = !config_.accuracy.is_relative || answers_ >= few_answers;
  return is_known && (rms > wanted_error() || largest > threshold_of(wanted_error()));
}

double ActiveLearning::limit() const
{
  const bool cautious = config_.limit == 0.0 && config_.late && is_growing();
  return cautious ? late_factor * threshold() : trouble();
}

double ActiveLearning::trouble() const
{
  if (config_.limit > 0.0) return config_.limit;
  return wanted_error() > 0.0 ? limit_factor * threshold() : HUGE_VAL;
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
  }
  calibration_.add(comparison.atoms);
  force_ = std::max(force_, force);
  ++answers_;
}

double ActiveLearning::rank_correlation() const
{
  return expected_.size() < 3 ? 0.0 : dptrain::rank_correlation(expected_, found_);
}

std::string ActiveLearning::damage() const
{
  const auto is_bad = [](double number) { return !std::isfinite(number) || number < 0.0; };
  for (const auto *errors : {&expected_, &found_})
    if (std::any_of(errors->begin(), errors->end(), is_bad))
      return "an error is negative or not finite";
  for (const std::int64_t count : {answers_, audits_, audits_above_, audits_far_above_})
    if (count < 0) return "a number of answers is negative";
  for (const double mean : {force_, learned_.bar, learned_.error, learned_.force})
    if (is_bad(mean)) return "a mean is negative or not finite";
  for (const BarCoverage &one : coverage_)
    if (!one.damage().empty()) return one.damage();
  if (coverage_.size() > covered || expected_.size() > ranked || expected_.size() != found_.size())
    return fmt::format("{} expected and {} true errors", expected_.size(), found_.size());
  return "";
}

}  // namespace dptrain
