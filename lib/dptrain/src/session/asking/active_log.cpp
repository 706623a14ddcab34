#include "session/asking/active_log.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace dptrain {

using Fate = Outcome::Fate;

namespace {

constexpr double poor_model = 0.25;  // error of held-out frames over their forces

std::string bars_text(const ActiveLearning &learning, const ErrorBars &bars,
                      const std::vector<std::string> &type_map)
{
  const BarCoverage coverage = learning.coverage();
  std::string text = coverage.atoms() > 0 ? coverage.text(bars, type_map) + " at the latest labels"
                                          : "nothing was compared with them";
  if (!bars.is_known()) text = "none yet";
  if (const std::int64_t missing = learning.missing_labels(); missing > 0)
    text += fmt::format("; {} labels more are needed for {:.3g} %", missing, 100.0 * bars.coverage);
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
  text += fmt::format(", {} in flight, {} asked, {} frames, expected error {:.4g} (threshold "
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
                        double batch_error, double held_out_error, double jumps) const
{
  const double unit = units_.force();
  const auto [reference, training, md] = seconds();
  const double total = reference + training + md, percent = 100.0 / std::max(total, 1e-300);
  const std::int64_t steps = step - first_step_, calls = counters_.reference.calls - calls_before_,
                     discarded = counters_.reference.discarded - discarded_before_;
  messages_.table(fmt::format(
      "{}: {} steps, {} reference calls ({:.2f} %), {} frames\n{}  seconds: reference {:.2f} "
      "({:.0f} %), training {:.2f} ({:.0f} %), MD {:.2f} ({:.0f} %), all {:.2f}\n  threshold "
      "{:.4g}, limit {:.4g} (force units)\n  error bars: {}\n  largest ones and largest errors of "
      "the "
      "answers: rank correlation {:.2f}\n  "
      "audits: {}, {} above the threshold, {} above three thresholds\n  force rmse: last batch "
      "{:.4g}, held-out frames {:.4g}, forces of the latest label {:.4g}\n  jumps of the potential "
      "energy, sum of all runs: {:.6g} energy units",
      name, steps, calls,
      steps > 0 ? 100.0 * static_cast<double>(calls) / static_cast<double>(steps) : 0.0,
      counters_.frames.stored,
      discarded > 0 ? fmt::format("  labels discarded: {}, see the warnings above\n", discarded)
                    : std::string(),
      reference, reference * percent, training, training * percent, md, md * percent, total,
      learning.threshold() * unit, learning.limit() * unit, bars_text(learning, bars, type_map),
      learning.rank_correlation(), learning.audits(), learning.audits_above(),
      learning.audits_far_above(), batch_error * unit, held_out_error * unit,
      learning.force() * unit, jumps * units_.energy));
}

// Not where the threshold follows the errors.
void ActiveLog::watch_threshold(Ask ask, const ActiveLearning &learning)
{
  if (!learning.is_threshold_given() || ask == Ask::early) return;
  const double unit = units_.force(), reached = learning.reached_error();
  const bool asked = ask == Ask::threshold || ask == Ask::limit;
  if (!threshold_watch_.add(asked, learning.threshold(), reached)) return;
  messages_.warning(
      fmt::format("step {}: threshold {:.4g} is below the error that the model reaches ({:.4g}): "
                  "the reference is asked at every check. Raise the threshold (or use 'threshold "
                  "auto'), train longer ('train'), or use a larger model",
                  step_, learning.threshold() * unit, reached * unit));
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

void ActiveLog::warn_of_poor_model(const ActiveLearning &learning, double held_out_error) const
{
  if (learning.is_growing() || !(held_out_error > poor_model * learning.force())) return;
  messages_.warning(fmt::format(
      "on held-out frames the model's force error is {:.0f} % of the forces: what moves the atoms "
      "is a poor potential. Train longer per label ('train', 'ema') or use a larger model; more "
      "labels alone do not help where the error of the last batch is as large",
      100.0 * held_out_error / learning.force()));
}

}  // namespace dptrain
