// Mode active with cut-outs: the reference labels the surroundings of the worst atoms, and the model moves all atoms.

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"
#include "session/asking/active_mode.h"

namespace dptrain {

using Fate = Outcome::Fate;

// None without `cutout`, and where a cut-out would be the whole box.
std::vector<LabelRequest> ActiveMode::requests_around(Trajectory &run, LabelRequest &step)
{
  if (!cutouts_) return {};
  step.frame.step = step_;
  step.energy = total_energy(*comm_, run);
  return cutouts_->at(run, step, decisions_, training_.uncertainty());
}

// All are handed over before the first answer is awaited: where there are several clients, they work side by side.
std::vector<ActiveMode::Answered> ActiveMode::answers_around(std::vector<LabelRequest> requests)
{
  if (requests.front().ask == Ask::limit && options_.limit_stops)
    stop_above_limit(requests.front());
  std::vector<Answered> answered;
  double found = 0.0;
  for (LabelRequest &request : requests) book_->submit(request);
  for (LabelRequest &request : requests) {
    const std::optional<Label> label = book_->await(request);
    if (!label) continue;
    Outcome outcome = learning_->judge_awaited(request, *label);
    outcome.reference_moves = false;
    found = std::max(found, outcome.max_error);
    answered.push_back({std::move(request), *label, outcome});
  }
  if (!answered.empty()) learning_->set_found_error(found);
  return answered;
}

// False where the cut-outs would be the whole box.
bool ActiveMode::ask_around(Trajectory &run, LabelRequest &step)
{
  if (cutouts_->is_whole() && step.ask == Ask::no) return false;
  model_moves_ = true;
  if (step.ask == Ask::no) {  // the model is young, but there is nobody else to move the atoms
    jumps_.not_asked();
    return true;
  }
  std::vector<LabelRequest> requests = requests_around(run, step);
  if (requests.empty()) return false;
  std::vector<Answered> answered = answers_around(std::move(requests));
  if (answered.empty()) {
    jumps_.not_asked();
    return true;
  }
  learn_around(run, step, answered);
  note_answer(run, step, {});
  for (const Answered &one : answered) log_.line(one.request, one.outcome, jumps_.sum());
  return true;
}

// The optimizer steps that the labels have earned, after which the forces of the model are those that move the atoms.
void ActiveMode::learn_around(Trajectory &run, const LabelRequest &step,
                              std::vector<Answered> &answered)
{
  const auto has = [&](auto fate) {
    return std::any_of(answered.begin(), answered.end(),
                       [&](const Answered &one) { return one.outcome.fate == fate; });
  };
  const bool learned = has(Fate::learned);
  if (learned || has(Fate::held_out)) learning_->train_pending();
  if (!learned) return;
  run.evaluate_again();
  const std::vector<double> force = run.forces();
  for (Answered &one : answered) {
    if (one.outcome.fate != Fate::learned) continue;
    one.outcome.learned_error = force_errors(forces_on(one.request, force), one.label).max;
    learning_->learned(one.outcome.learned_error);
    if (one.outcome.learned_error > decisions_.limit()) warn_above_limit(one.outcome.learned_error);
  }
  keep_scale(run, step.score);
  run.follow_model();
}

void ActiveMode::warn_above_limit(double error)
{
  if (std::exchange(above_limit_warned_, true)) return;
  const double unit = options_.units.force();
  messages_.warning(fmt::format(
      "step {}: after it has learned from a cut-out the model's error there is {:.4g}, above the "
      "limit {:.4g}, and it moves the atoms all the same, as the reference does not know the whole "
      "box: train longer per label ('train'), or stop with 'limit ... stop'",
      step_, error * unit, decisions_.limit() * unit));
}

}  // namespace dptrain
