#include "session/active_log.h"

#include <algorithm>

#include "base/text.h"

namespace dptrain {

using Fate = Outcome::Fate;

ActiveLog::ActiveLog(const SessionCounters &counters, const UnitFactors &units,
                     const Messages &messages) :
    counters_(counters), units_(units), messages_(messages)
{
}

void ActiveLog::begin()
{
  messages_.info(
      "largest force errors of an atom, force units; jump of the potential energy; seconds of "
      "reference, training and MD");
  messages_.table(
      "dptrain       step       why  expected      true       rms    learned  moved_by  "
      "frames   calls       jump reference  training        MD");
}

void ActiveLog::open(std::int64_t step, double jumps)
{
  start_ = std::chrono::steady_clock::now();
  reference_before_ = counters_.reference_seconds;
  train_before_ = counters_.train_seconds;
  first_step_ = step;
  calls_before_ = counters_.reference_calls;
  printed_jumps_ = jumps;
}

// Of the reference, of the training, and the rest.
std::array<double, 3> ActiveLog::seconds() const
{
  const double all =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double reference = counters_.reference_seconds - reference_before_,
               training = counters_.train_seconds - train_before_;
  return {reference, training, all - reference - training};
}

void ActiveLog::line(const LabelRequest &request, const Outcome &outcome, double jumps)
{
  const double unit = units_.force(), jump = (jumps - printed_jumps_) * units_.energy;
  printed_jumps_ = jumps;
  const auto [reference, training, md] = seconds();
  const auto number = [](bool known, double value) {
    return known ? formatted("%.4g", value) : std::string("-");
  };
  std::string learned = "-";
  if (outcome.fate == Fate::held_out) learned = "held_out";
  if (outcome.fate == Fate::duplicate) learned = "duplicate";
  if (outcome.learned_error > 0.0) learned = number(true, outcome.learned_error * unit);
  const std::string expected = number(request.has_scores && request.expected > 0.0,
                                      request.expected * unit),
                    largest = number(request.has_scores, outcome.max_error * unit),
                    rms = number(request.has_scores, outcome.rms_error * unit);
  messages_.table(formatted(
      "dptrain %10lld %9s %9s %9s %9s %10s %9s %7lld %7lld %10.4g %9.2f %9.2f %9.2f",
      static_cast<long long>(request.frame.step), name_of(request.ask).c_str(), expected.c_str(),
      largest.c_str(), rms.c_str(), learned.c_str(),
      outcome.reference_moves ? "reference" : "model", static_cast<long long>(counters_.frames),
      static_cast<long long>(counters_.reference_calls), jump, reference, training, md));
}

void ActiveLog::summary(const std::string &name, std::int64_t step, const ActiveLearning &learning,
                        double batch_error, double held_out_error, double jumps) const
{
  const double unit = units_.force();
  const auto [reference, training, md] = seconds();
  const double total = reference + training + md, percent = 100.0 / std::max(total, 1e-300);
  const auto steps = static_cast<long long>(step - first_step_),
             calls = static_cast<long long>(counters_.reference_calls - calls_before_);
  const auto count = [](std::int64_t value) { return static_cast<long long>(value); };
  messages_.table(
      name +
      formatted(": %lld steps, %lld reference calls (%.2f %%), %lld frames\n", steps, calls,
                steps > 0 ? 100.0 * static_cast<double>(calls) / static_cast<double>(steps) : 0.0,
                count(counters_.frames)) +
      formatted("  seconds: reference %.2f (%.0f %%), training %.2f (%.0f %%), MD %.2f (%.0f %%), "
                "all %.2f\n",
                reference, reference * percent, training, training * percent, md, md * percent,
                total) +
      formatted("  threshold %.4g, limit %.4g, scale of the uncertainty %.4g (force units)\n",
                learning.threshold() * unit, learning.limit() * unit,
                learning.calibration().scale() * unit) +
      formatted("  largest errors over expected ones: mean %.3g, above 1 in %.0f %% of the "
                "answers, rank correlation %.2f\n",
                learning.mean_ratio(), 100.0 * learning.part_above(), learning.rank_correlation()) +
      formatted("  audits: %lld, %lld above the threshold, %lld above three thresholds\n",
                count(learning.audits()), count(learning.audits_above()),
                count(learning.audits_far_above())) +
      formatted("  force rmse: last batch %.4g, held-out frames %.4g, forces of the latest label "
                "%.4g\n",
                batch_error * unit, held_out_error * unit, learning.force() * unit) +
      formatted("  jumps of the potential energy, sum of all runs: %.6g energy units",
                jumps * units_.energy));
}

}  // namespace dptrain
