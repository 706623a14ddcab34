#include "session/asking/active_log.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace dptrain {

using Fate = Outcome::Fate;

namespace {

constexpr double not_reached = 1.3;  // error of held-out frames over the one that is wanted
constexpr std::size_t latest_answers = 10;
const char *const what_helps =
    "more steps per label ('train'), a longer cutoff or a larger net (an input.json in "
    "pair_coeff), a baseline with charges for ionic systems, or a reference with less noise";

std::string bars_text(const ActiveLearning &learning, const ErrorBars &bars,
                      const std::vector<std::string> &type_map)
{
  const BarCoverage coverage = learning.coverage();
  std::string text = coverage.atoms() > 0 ? coverage.text(bars, type_map) + " at the latest labels"
                                          : "nothing was compared with them";
  if (!bars.is_known()) text = "none yet";
  if (const std::int64_t missing = learning.missing_labels(); missing > 0)
    text += fmt::format("; it takes {} more label{} to tell {:.3g} %", missing,
                        missing == 1 ? "" : "s", 100.0 * bars.coverage);
  return text;
}

}  // namespace

ActiveLog::ActiveLog(const SessionCounters &counters, const LearningOptions &options,
                     const Messages &messages) :
    counters_(counters),
    units_(options.units),
    messages_(messages),
    progress_seconds_(options.progress_seconds)
{
}

void ActiveLog::begin()
{
  messages_.info("largest force errors of an atom, force units; jump of the potential energy; "
                 "seconds of reference, training and MD");
  messages_.table("dptrain       step       why  expected      true       rms    learned  moved_by "
                  " frames   calls       jump reference  training        MD");
}

void ActiveLog::open(std::int64_t step, double jumps)
{
  start_ = progress_time_ = std::chrono::steady_clock::now();
  progress_step_ = step;
  reference_before_ = counters_.reference.seconds;
  train_before_ = counters_.training.seconds;
  first_step_ = step;
  calls_before_ = counters_.reference.calls;
  explored_calls_ = 0;
  discarded_before_ = counters_.reference.discarded;
  printed_jumps_ = jumps;
}

// Of the reference, of the training, and the rest.
std::array<double, 3> ActiveLog::seconds() const
{
  const double all =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double reference = counters_.reference.seconds - reference_before_,
               training = counters_.training.seconds - train_before_;
  return {reference, training, all - reference - training};
}

// The time that is left is that of steps as fast as those since the line before.
void ActiveLog::progress(std::int64_t in_flight, const ActiveLearning &learning)
{
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - progress_time_).count();
  if (seconds < progress_seconds_) return;
  const std::int64_t steps = step_ - progress_step_;
  progress_time_ = now;
  progress_step_ = step_;
  const auto [reference, training, md] = this->seconds();
  const double unit = units_.force(), percent = 100.0 / (reference + training + md);
  std::string text = fmt::format("dptrain progress: step {}", step_);
  if (last_step_ > step_) text += fmt::format(" of {}", last_step_);
  text += fmt::format(", {} in flight, {} asked, {} frames, largest error bar {:.4g} (threshold "
                      "{:.4g}), time: waiting {:.0f} %, training {:.0f} %, MD {:.0f} %",
                      in_flight, counters_.reference.calls, counters_.frames.stored,
                      expected_error_ * unit, learning.threshold() * unit, reference * percent,
                      training * percent, md * percent);
  if (steps > 0 && last_step_ > step_)
    text += fmt::format(", about {:.2g} hours to go", seconds / static_cast<double>(steps) *
                                                          static_cast<double>(last_step_ - step_) /
                                                          3600.0);
  if (steps == 0) text += ", no step since the line before";
  messages_.table(text);
}

void ActiveLog::line(const LabelRequest &request, const Outcome &outcome, double jumps)
{
  if (request.has_bars) answer_errors_.push_back(outcome.rms_error);
  if (answer_errors_.size() > latest_answers) answer_errors_.pop_front();
  const double unit = units_.force(), jump = (jumps - printed_jumps_) * units_.energy;
  printed_jumps_ = jumps;
  const auto [reference, training, md] = seconds();
  const auto number = [](bool known, double value) {
    return known ? fmt::format("{:.4g}", value) : std::string("-");
  };
  std::string learned = outcome.is_late && outcome.fate == Fate::learned ? "later" : "-";
  if (outcome.fate == Fate::held_out) learned = "held_out";
  if (outcome.fate == Fate::duplicate) learned = "duplicate";
  if (outcome.learned_error > 0.0) learned = number(true, outcome.learned_error * unit);
  const char *const mover = request.ask == Ask::prepare ? "-"  // not a step of the run
                            : outcome.reference_moves   ? "reference"
                                                        : "model";
  const std::string expected =
                        number(request.has_bars && request.expected > 0.0, request.expected * unit),
                    largest = number(request.has_bars, outcome.max_error * unit),
                    rms = number(request.has_bars, outcome.rms_error * unit);
  messages_.table(fmt::format("dptrain {:10} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9} {:7} {:7} "
                              "{:10.4g} {:9.2f} {:9.2f} {:9.2f}",
                              request.frame.step, name_of(request.ask), expected, largest, rms,
                              learned, mover, counters_.frames.stored, counters_.reference.calls,
                              jump, reference, training, md));
}

void ActiveLog::summary(const std::string &name, std::int64_t step, const ActiveLearning &learning,
                        const ErrorBars &bars, const std::vector<std::string> &type_map,
                        double batch_error, const HeldOutError &held_out, double jumps) const
{
  const double unit = units_.force();
  const auto [reference, training, md] = seconds();
  const double total = reference + training + md, percent = 100.0 / std::max(total, 1e-300);
  const std::int64_t steps = step - first_step_, calls = this->calls() - explored_calls_,
                     discarded = counters_.reference.discarded - discarded_before_;
  messages_.table(fmt::format(
      "{}: {} steps, {} reference calls ({:.2f} %){}, {} frames\n{}  seconds: reference {:.2f} "
      "({:.0f} %), training {:.2f} ({:.0f} %), MD {:.2f} ({:.0f} %), all {:.2f}\n  accuracy: {}\n  "
      "threshold {:.4g}, limit {:.4g} (force units)\n  error bars: {}\n  largest bars and largest "
      "errors of the answers: rank correlation {:.2f}\n  audits: {}, {} above the threshold, {} "
      "above three thresholds\n  force rmse of the last batch {:.4g}, rms force {:.4g}\n  jumps of "
      "the potential energy, sum of all runs: {:.6g} energy units",
      name, steps, calls,
      steps > 0 ? 100.0 * static_cast<double>(calls) / static_cast<double>(steps) : 0.0,
      explored_calls_ > 0 ? fmt::format(" and {} to explore", explored_calls_) : std::string(),
      counters_.frames.stored,
      discarded > 0 ? fmt::format("  labels discarded: {}, see the warnings above\n", discarded)
                    : std::string(),
      reference, reference * percent, training, training * percent, md, md * percent, total,
      accuracy_text(learning, held_out), learning.threshold() * unit, learning.limit() * unit,
      bars_text(learning, bars, type_map), learning.rank_correlation(), learning.audits(),
      learning.audits_above(), learning.audits_far_above(), batch_error * unit,
      learning.force() * unit, jumps * units_.energy));
}

void ActiveLog::tell_out_of_reach(const ActiveLearning &learning)
{
  if (out_of_reach_told_ || !learning.is_out_of_reach()) return;
  out_of_reach_told_ = true;
  messages_.info(fmt::format("step {}: the force error on what has been learned is {}, above two "
                             "thirds of the accuracy of "
                             "{}: more labels of the same kind do not help, and while this is so "
                             "only what is new is asked "
                             "for. To change that, use {}",
                             step_, error_text(learning.learned().error, learning),
                             error_text(learning.wanted_error(), learning), what_helps));
}

void ActiveLog::tell_low_limit(const ActiveLearning &learning, double limit)
{
  const double threshold = ActiveLearning::threshold_of(learning.wanted_error());
  if (low_limit_told_ || !(limit > 0.0 && limit < threshold)) return;
  low_limit_told_ = true;
  messages_.warning(fmt::format(
      "step {}: the limit {:.4g} is below the error bar {:.4g} above which the reference is asked, "
      "ten times the accuracy: above the limit the model does not move the atoms; give a larger "
      "limit, or a smaller accuracy",
      step_, limit * units_.force(), threshold * units_.force()));
}

void ActiveLog::tell_large_accuracy(const ActiveLearning &learning)
{
  if (large_accuracy_told_ || learning.force() == 0.0 ||
      !(learning.wanted_error() > learning.force()))
    return;
  large_accuracy_told_ = true;
  messages_.warning(fmt::format(
      "step {}: the accuracy of {:.4g} is a force error above the root mean square {:.4g} of the "
      "forces themselves: a potential that knows nothing has it. Give a smaller one, or a part of "
      "the forces with a percent sign, as in 'accuracy 5%'",
      step_, learning.wanted_error() * units_.force(), learning.force() * units_.force()));
}

void ActiveLog::warn_of_close_atoms(double distance)
{
  if (close_atoms_warned_) return;
  close_atoms_warned_ = true;
  messages_.warning(
      fmt::format("step {}: atoms are {:.4g} apart, closer than in the frames from which the model "
                  "was made: its tables are extended, which takes time, and its forces are guesses "
                  "there. Add walls, which keep atoms apart: pair_style dptrain wall yes",
                  step_, distance * units_.length));
}

void ActiveLog::warn_of_error(const ActiveLearning &learning, const HeldOutError &held_out) const
{
  if (learning.is_growing() || held_out.frames == 0 ||
      !(held_out.error > not_reached * learning.wanted_error()))
    return;
  messages_.warning(fmt::format(
      "the potential does not have the accuracy that is wanted ({}): its force error on held-out "
      "configurations is {}, on those that it has learned {}. Use {}",
      error_text(learning.wanted_error(), learning), error_text(held_out.error, learning),
      error_text(learning.learned().error, learning),
      learning.is_out_of_reach() ? what_helps : "more labels, of a longer run ('resume' goes on)"));
}

// In force units, and as a part of the forces.
std::string ActiveLog::error_text(double error, const ActiveLearning &learning) const
{
  std::string text = fmt::format("{:.4g}", error * units_.force());
  if (learning.force() > 0.0)
    text += fmt::format(" ({:.3g} % of the forces)", 100.0 * error / learning.force());
  return text;
}

// Held-out configurations are few, and of all the run: the error of the next one is seldom above that of the latest answers,
// which the model knew least.
std::string ActiveLog::accuracy_text(const ActiveLearning &learning,
                                     const HeldOutError &held_out) const
{
  if (learning.learned().frames == 0) return "nothing is learned yet";
  std::string reached = "not measured, as no configuration is held out";
  if (held_out.frames > 0)
    reached = fmt::format("reached {} on {} held-out configuration{}",
                          error_text(held_out.error, learning), held_out.frames,
                          held_out.frames == 1 ? "" : "s");
  std::string text = fmt::format("wanted {}, {}, {} on those it has learned",
                                 error_text(learning.wanted_error(), learning), reached,
                                 error_text(learning.learned().error, learning));
  if (answer_errors_.empty()) return text;
  double squares = 0.0;
  for (const double error : answer_errors_) squares += error * error;
  return text +
         fmt::format(
             ", {} at the latest {} answer{} before they were learned",
             error_text(std::sqrt(squares / static_cast<double>(answer_errors_.size())), learning),
             answer_errors_.size(), answer_errors_.size() == 1 ? "" : "s");
}

}  // namespace dptrain
