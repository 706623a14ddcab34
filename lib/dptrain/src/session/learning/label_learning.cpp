#include "session/learning/label_learning.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace dptrain {

using Fate = Outcome::Fate;

namespace {

ActiveConfig active_config(const LearningOptions &options)
{
  ActiveConfig config;
  config.threshold = options.threshold;
  config.limit = options.limit;
  config.late = options.asynchronous > 0;
  config.audit = options.audit;
  config.seed = options.seed.value_or(1);
  return config;
}

// A run that waits for others.
void nap()
{
  std::this_thread::sleep_for(std::chrono::duration<double>(ReplicaGroup::nap));
}

}  // namespace

LabelLearning::LabelLearning(std::shared_ptr<const Communicator> run,
                             std::shared_ptr<ModelSlot> slot, OnlineTraining &training,
                             ReferenceDesk *desk, ReplicaGroup *group, SelfHealing &healing,
                             const LearningOptions &options, Late late) :
    run_(std::move(run)),
    slot_(std::move(slot)),
    training_(training),
    desk_(desk),
    group_(group),
    healing_(healing),
    options_(options),
    late_(std::move(late)),
    decisions_(active_config(options)),
    pace_(options.train_share)
{
  const std::vector<double> &state =
      training_.active_state().empty() ? slot_->active_state : training_.active_state();
  if (!state.empty()) {
    decisions_.set_state(state);
    training_.active_state() = decisions_.state();
  }
  refresh_scores();
  slot_->calibration = decisions_.calibration();
}

// What follows from the present parameters and frames: uncertainties, and the error on held-out frames.
void LabelLearning::refresh_scores()
{
  training_.refresh_uncertainty();
  held_out_error_ = training_.held_out_errors().rmse("f");
  const double known = training_.uncertainty().known_score();
  if (known > 0.0) decisions_.set_known_score(known);
}

// ---- an answer

// One of `holdout` labels is held out: an early one, or an audit, whatever it has found.
bool LabelLearning::is_held_out(const LabelRequest &request) const
{
  const SessionCounters &counters = training_.counters();
  if (options_.holdout == 0 || !request.has_scores ||
      (counters.held_out + 1) * options_.holdout > counters.frames + 1)
    return false;
  return request.ask == Ask::audit || request.ask == Ask::young;
}

// Of a request of this run, when its answer has come.
void LabelLearning::bring(AnsweredRequest answer)
{
  const LabelRequest &request = answer.request;
  if (request.has_scores) {
    const ForceErrors errors = answer.errors = force_errors(request.force, answer.label);
    if (request.ask != Ask::young)
      healing_.compare(request.frame.step, request.expected, errors.max, decisions_.trouble());
    answer.is_wild = healing_.is_wild(request.frame.step, errors.label_rms, decisions_.force());
  }
  brought_.push_back(std::move(answer));
}

// Compares the model with a label, and stores it unless it tells nothing new. The run may have gone on since the request.
Outcome LabelLearning::judge(AnsweredRequest &answer)
{
  auto &[request, label, errors, is_wild, run] = answer;
  Outcome outcome;
  outcome.max_error = errors.max;
  outcome.rms_error = errors.rms;
  if (request.has_scores && run == run_index()) found_error_ = errors.max;
  if (is_wild) return outcome;
  if (desk_->is_stored(request, label)) return outcome;
  const bool held_out = is_held_out(request);
  if (!held_out && request.has_scores && options_.duplicate > 0.0 &&
      training_.uncertainty().distance(request.feature_sum, request.natoms()) <
          options_.duplicate) {
    outcome.fate =
        Fate::duplicate;  // of the same configuration: it tells nothing new of the errors
    return outcome;
  }
  if (request.has_scores)
    decisions_.compare({request.score, errors.max, errors.rms}, request.ask, errors.label_rms);
  slot_->calibration = decisions_.calibration();
  training_.active_state() = decisions_.state();
  if (!desk_->within_limit(request, label)) return outcome;
  // of a young model a threshold that follows the errors is not known yet; copies are made to be learned
  const bool is_wrong = request.has_scores &&
                        (decisions_.is_threshold_given() || !decisions_.is_young()) &&
                        errors.max > decisions_.threshold();
  if (is_wrong || request.ask == Ask::prepare) training_.note_wrong_model();
  outcome.fate = held_out ? Fate::held_out : Fate::learned;
  request.frame.label = label;
  request.frame.held_out = held_out;
  training_.add(request.frame);
  return outcome;
}

Outcome LabelLearning::judge_awaited(const LabelRequest &request, const Label &label)
{
  awaited_ = request.id;
  bring({request, label});
  if (!group_) judge_all(std::exchange(brought_, {}));
  while (!awaited_outcome_) {
    meet();
    if (!awaited_outcome_) nap();
  }
  awaited_.reset();
  return *std::exchange(awaited_outcome_, {});
}

void LabelLearning::learn()
{
  training_.train();
  finish();
}

// All that was owed has been learned.
void LabelLearning::finish()
{
  pace_.end();
  refresh_scores();
  if (late_error_ratio_ > 0.0) decisions_.learned(late_error_ratio_ * training_.latest_error());
  late_error_ratio_ = 0.0;
}

// ---- answers that come while the run goes on

bool LabelLearning::has_room() const
{
  return !training_.owes_steps() && desk_->num_left() < options_.asynchronous;
}

bool LabelLearning::resembles_left(const LabelRequest &request) const
{
  return desk_->any_left([&](const LabelRequest &left) {
    return left.has_scores && left.natoms() == request.natoms() &&
           training_.uncertainty().distance(left.feature_sum, request.feature_sum,
                                            request.natoms()) < options_.duplicate;
  });
}

void LabelLearning::take_answers()
{
  if (desk_->num_left() > 0)
    for (AnsweredRequest &answer : desk_->collect()) bring(std::move(answer));
  if (!group_) judge_all(std::exchange(brought_, {}));
}

// The same in all runs that learn together, in the same order.
void LabelLearning::judge_all(std::vector<AnsweredRequest> answers)
{
  for (AnsweredRequest &answer : answers) {
    const LabelRequest &request = answer.request;
    Outcome outcome = judge(answer);
    const bool is_awaited = answer.run == run_index() && awaited_ == request.id;
    // others do not know whether somebody waits
    if (outcome.fate == Fate::learned && !training_.is_collecting() && outcome.rms_error > 0.0 &&
        (group_ || !is_awaited))
      late_error_ratio_ = outcome.max_error / outcome.rms_error;
    if (answer.run != run_index()) continue;
    desk_->settle(request.id);
    if (is_awaited) {
      awaited_outcome_ = outcome;
      continue;
    }
    outcome.is_late = true;
    outcome.reference_moves = false;
    late_(request, outcome);
  }
}

void LabelLearning::wait_for_answer()
{
  const std::int64_t before = desk_->num_left();
  while (desk_->num_left() == before) {
    desk_->wait();
    take_answers();
    if (group_) meet();
  }
}

// A young model learns while the run waits.
bool LabelLearning::slice_is_due(bool has_model)
{
  changed_ = false;
  if (group_) return group_->meets(offer());
  return training_.owes_steps() && has_model && !decisions_.is_young();
}

bool LabelLearning::learn_slice()
{
  if (group_) {
    const std::int64_t calls = desk_->take_new_calls();
    training_.counters().reference_calls += group_->sum_over_runs(calls) - calls;
    judge_all(group_->exchange(std::exchange(brought_, {})));
  }
  if (!training_.owes_steps()) return false;
  const bool all = group_ && (group_->sum().awaited > 0 || options_.asynchronous == 0);
  double seconds = all ? TrainingPace::everything : pace_.due(TrainingPace::Clock::now());
  (group_ ? *group_->everyone() : *run_).broadcast(&seconds, sizeof(seconds), 0);
  if (seconds == 0.0) return false;
  training_.train_for(seconds);
  if (training_.owes_steps())
    pace_.slice_done(TrainingPace::Clock::now());
  else
    finish();
  return true;
}

void LabelLearning::learn_all_owed()
{
  if (!group_) return learn();
  waits_for_training_ = true;
  while (training_.owes_steps()) {
    meet();
    if (training_.owes_steps()) nap();
  }
  waits_for_training_ = false;
}

// ---- those who learn together

// The clock of the first run decides about slices.
ReplicaGroup::Offer LabelLearning::offer()
{
  ReplicaGroup::Offer offer;
  offer.labels = static_cast<std::int64_t>(brought_.size());
  offer.awaited = (awaited_ && !awaited_outcome_) || waits_for_training_ ? 1 : 0;
  offer.wants_training =
      group_->index() == 0 && training_.owes_steps() && pace_.due(TrainingPace::Clock::now()) > 0.0;
  return offer;
}

void LabelLearning::meet()
{
  if (group_->meets(offer())) changed_ = learn_slice() || changed_;
}

void LabelLearning::rest(bool leaves)
{
  for (;;) {
    take_answers();
    ReplicaGroup::Offer offer = this->offer();
    offer.rests = true;
    offer.has_left = leaves;
    if (!group_->meets(offer)) {
      nap();
      continue;
    }
    learn_slice();
    if (!group_->all_rest()) continue;
    learn();
    training_.save();
    if (!leaves || group_->all_have_left()) return;
  }
}

}  // namespace dptrain
