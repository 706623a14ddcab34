#include "session/recovery/self_healing.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/text.h"
#include "dptrain/session/recovery/state_history.h"

namespace dptrain {

namespace {

constexpr std::int64_t calm = 100;       // steps behind the place of a trouble until it is over
constexpr std::int64_t labels = 10;      // after a return, on the way to this place
constexpr std::int64_t label_every = 5;  // steps at least
constexpr double wild = 5.0;             // times the usual forces
constexpr std::int64_t margin = StateHistory<int>::spacing;  // from a state to the trouble

}  // namespace

SelfHealing::SelfHealing(int most, const UnitFactors &units, const Messages &messages) :
    most_(most), units_(units), messages_(messages)
{
}

// Step numbers may be set back between two runs: what was left then is behind.
void SelfHealing::begin_run(std::int64_t step)
{
  watch_.begin();
  if (!first_step_ || step < *first_step_) first_step_ = step;
  if (step >= left_) return;
  left_ = reached_ = step - calm;
  abandoned_.clear();
}

bool SelfHealing::was_abandoned(std::int64_t step) const
{
  return (first_step_ && step < *first_step_) ||
         std::any_of(abandoned_.begin(), abandoned_.end(),
                     [step](const auto &way) { return step > way.first && step <= way.second; });
}

// On the way that was gone before, and a little further.
bool SelfHealing::is_due(std::int64_t step) const
{
  const std::int64_t way = left_ - reached_ + margin;
  return done_ > 0 && step > left_ && step <= left_ + way &&
         (step - left_) % std::max(label_every, way / labels) == 0;
}

bool SelfHealing::look(const Trajectory &run)
{
  if (!is_on() || !trouble_.empty()) return false;  // an answer that came later has found some
  trouble_ = watch_.look(run.condition(), units_);
  trouble_step_ = run.step();
  return !trouble_.empty() || is_due(run.step());
}

void SelfHealing::compare(std::int64_t step, double expected, double found, double limit)
{
  if (!is_on() || is_elsewhere_ || !trouble_.empty() || !model_moved_ || was_abandoned(step) ||
      !(found > limit))
    return;
  const double unit = units_.force();
  trouble_ = fmt::format(
      "the force error of an atom is {:.4g}, expected were {:.4g}, and the limit is {:.4g}",
      found * unit, expected * unit, limit * unit);
  trouble_step_ = step;
}

bool SelfHealing::is_outlier(std::int64_t step, double force, double usual) const
{
  return !is_elsewhere_ && (!trouble_.empty() || was_abandoned(step)) && usual > 0.0 &&
         force > wild * usual;
}

bool SelfHealing::finish(Trajectory &run, const Step &step)
{
  if (!is_on()) return false;
  const RunCondition now = run.condition();
  model_moved_ = step.model_moves;
  if (step.answered) watch_.add_label(now);
  if (!trouble_.empty()) return go_back(run);
  if (step.fine) {
    run.trust();
    watch_.add(run.step(), now, !step.model_moves);
  }
  return false;
}

bool SelfHealing::rescue(Trajectory &run, const std::string &why)
{
  if (!is_on()) return false;
  trouble_ = why;
  trouble_step_ = run.step();
  return go_back(run);
}

bool SelfHealing::go_back(Trajectory &run)
{
  const std::int64_t step = run.step();
  const bool again = done_ > 0 && step <= left_ + (left_ - reached_) + calm;
  const std::optional<std::int64_t> state =
      run.go_back(again ? reached_ - 1 : trouble_step_ - margin, done_ + 1);
  const std::string what = fmt::format("step {}: {}", step, std::exchange(trouble_, ""));
  if (!state) {
    if (!told_)
      messages_.info(fmt::format("{}; there is no trusted state yet to go back to", what));
    told_ = true;
    return false;
  }
  ++done_;
  left_ = step;
  reached_ = *state;
  abandoned_.emplace_back(reached_, left_);
  watch_.go_back(*state);
  messages_.info(
      fmt::format("{}; back to the state of step {}, rewind {} of {}", what, *state, done_, most_));
  if (!is_on()) messages_.info("that was the last rewind: the run goes on without");
  return true;
}

std::string SelfHealing::refusal() const
{
  if (is_on()) return "there is no trusted state yet to go back to";
  return most_ == 1 ? "the one rewind is used" : fmt::format("all {} rewinds are used", most_);
}

}  // namespace dptrain
