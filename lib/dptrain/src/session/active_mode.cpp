#include "session/active_mode.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

using Fate = Outcome::Fate;

namespace {

// Steps between two labels of a young model. Each of its steps is a call of the reference, which moves the atoms: labels that are
// further apart would cost more calls, closer ones tell less.
constexpr std::int64_t young_every = 3;
// Seconds between two looks at the log, and at those who learn together with a run, while it waits.
constexpr double one_wait = 60.0, group_nap = 0.02;

// A run that waits for others.
void nap()
{
  std::this_thread::sleep_for(std::chrono::duration<double>(group_nap));
}

ActiveConfig active_config(const LearningOptions &options)
{
  ActiveConfig config;
  config.threshold = options.threshold;
  config.limit = options.limit;
  config.audit = options.audit;
  config.seed = options.seed.value_or(1);
  return config;
}

}  // namespace

ActiveMode::ActiveMode(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelSlot> slot,
                       OnlineTraining &training, ReferenceDesk *desk, ReplicaGroup *group,
                       const LearningOptions &options, const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    training_(training),
    desk_(desk),
    group_(group),
    options_(options),
    messages_(messages),
    learning_(active_config(options)),
    log_(training.counters(), options, messages),
    pace_(options.train_share)
{
  jumps_.set_sum(training_.counters().energy_jumps);
  const std::vector<double> &state =
      training_.active_state().empty() ? slot_->active_state : training_.active_state();
  if (!state.empty()) {
    learning_.set_state(state);
    training_.active_state() = learning_.state();
  }
  refresh_scores();
  slot_->calibration = learning_.calibration();
  if (!desk_) return;
  desk_->while_waiting(
      [this] {
        tell_progress();
        if (group_) meet();
      },
      group_ ? group_nap : one_wait);
  for (const LabelRequest &request : desk_->left())
    if (request.has_scores)
      unlearned_.push_back({request.id, request.feature_sum, request.natoms()});
}

// What follows from the present parameters and frames: uncertainties, and the error on held-out frames.
void ActiveMode::refresh_scores()
{
  training_.refresh_uncertainty();
  held_out_error_ = training_.held_out_errors().rmse("f");
  const double known = training_.uncertainty().known_score();
  if (known > 0.0) learning_.set_known_score(known);
}

void ActiveMode::begin_run(std::int64_t step)
{
  if (run_open_) return;  // rerun sets up each of its configurations
  run_open_ = true;
  log_.open(step, jumps_.sum());
  jumps_.begin();
  if (!options_.selects) log_.begin();
}

void ActiveMode::end_run(std::int64_t step, const std::string &name)
{
  run_open_ = false;
  const double unit = options_.units.force();
  if (options_.selects)
    return messages_.table(name + ": " + std::to_string(training_.counters().frames) + " of " +
                           std::to_string(looked_at_) + " configurations selected, threshold " +
                           formatted("%.4g", learning_.threshold() * unit) +
                           " (force units): " + options_.dataset);
  take_answers();
  while (desk_->num_left() > 0 && !desk_->outlives_program()) wait_for_answer();
  if (group_)
    rest(false);
  else
    learn_from_labels();  // also those of a minimization
  const UpdateReport &batch = training_.report();
  log_.summary(name, step, learning_, batch.step > 0 ? batch.rmse("f") : 0.0, held_out_error_,
               jumps_.sum());
  log_.warn_of_poor_model(learning_, held_out_error_);
  if (desk_->num_left() > 0)
    messages_.info(
        std::to_string(desk_->num_left()) +
        " configurations are still with the reference: the next run takes up their labels, "
        "or a later one with 'resume'");
  // `run ... pre no` has no beginning but the end of the run before
  log_.open(step, jumps_.sum());
}

// ---- the present step

double ActiveMode::largest_score(const Trajectory &run)
{
  double largest = 0.0;
  for (const double score : run.scores())
    if (!(score <= largest)) largest = score;  // takes over what is not a number
  if (!std::isfinite(largest)) largest = HUGE_VAL;
  const double distance = slot_->model->neighbor_report().below_known;
  double values[2] = {largest, distance > 0.0 ? 1.0 / distance : 0.0};
  comm_->all_reduce_max(values, 2);
  if (values[1] > 0.0) log_.warn_of_close_atoms(step_, 1.0 / values[1]);
  return values[0];
}

double ActiveMode::model_energy(const Trajectory &run) const
{
  double energy = run.energy();
  comm_->all_reduce_sum(&energy, 1);
  return energy;
}

LabelRequest ActiveMode::look(const Trajectory &run)
{
  LabelRequest request;
  step_ = run.step();
  last_step_ = run.last_step();
  request.has_scores = run.has_scores();
  if (request.has_scores) {
    request.score = largest_score(run);
    request.expected = learning_.expected_error(request.score);
  }
  expected_error_ = request.expected;
  return request;
}

// The first step of a run is the last one of the run before: it has been asked about, and is not asked about again.
bool ActiveMode::continues_from_answer(const Trajectory &run) const
{
  const SessionCounters &counters = training_.counters();
  return step_ == log_.first_step() && counters.answer_step == step_ && run.has_scores() &&
         same_energy(counters.answer_energy, model_energy(run));
}

bool ActiveMode::is_due(const LabelRequest &request) const
{
  const bool young = !request.has_scores || learning_.is_young();
  return step_ % (young ? std::min(options_.every, young_every) : options_.every) == 0;
}

void ActiveMode::decide(LabelRequest &request)
{
  const bool due = is_due(request);
  request.ask = request.has_scores ? learning_.decide(step_, due, request.score)
                                   : (due ? Ask::young : Ask::no);
  model_moves_ = request.has_scores && !learning_.is_young();
  if (due) log_.watch_threshold(step_, request.ask, learning_);
}

void ActiveMode::step(Trajectory &run)
{
  learn_beside(run);
  LabelRequest request = look(run);
  if (continues_from_answer(run)) {
    model_moves_ = !training_.counters().reference_moved;
    jumps_.begin(!model_moves_);
  } else {
    decide(request);
    if (request.ask == Ask::limit) catch_up(run, request);
  }
  if (may_leave(request)) leave(run, request);
  if (request.ask == Ask::no && model_moves_)
    jumps_.not_asked();
  else
    ask(run, request);
  // a jump may also end at a step without an answer
  training_.counters().energy_jumps = jumps_.sum();
  tell_progress();
}

std::optional<Label> ActiveMode::answer_to(Trajectory &run, LabelRequest &request)
{
  if (request.ask == Ask::limit && options_.limit_stops) stop_above_limit(request);
  desk_->submit(run, request);
  return desk_->await(request);
}

void ActiveMode::ask(Trajectory &run, LabelRequest &request)
{
  const std::optional<Label> label = answer_to(run, request);
  if (!label) {
    if (std::exchange(model_changed_, false)) {
      run.evaluate_again();
      run.follow_model();
    }
    model_moves_ = true;
    return jumps_.not_asked();
  }
  if (request.ask == Ask::no) {
    run.follow(*label);
    model_moves_ = false;
    return note_answer(run, request, *label);
  }
  Outcome outcome = judge_and_learn(request, *label);
  move_on(run, request, *label, outcome);
  note_answer(run, request, *label);
  log_.line(request, outcome, jumps_.sum());
}

void ActiveMode::minimization_step(Trajectory &run)
{
  model_moves_ = run.has_scores();
  if (group_)
    return;  // the others may learn at any time, but this energy must stay that of one model
  if (!run.has_scores() || run.step() % options_.every != 0 ||
      training_.counters().label_step == run.step())
    return;
  LabelRequest request = look(run);
  request.ask = learning_.decide(step_, true, request.score);
  if (request.ask == Ask::no) return;
  const std::optional<Label> label = answer_to(run, request);
  if (!label) return;
  Outcome outcome = judge(request, *label);
  desk_->settle(request.id);
  if (outcome.stored()) training_.uncertainty().remember(request.feature_sum, request.natoms());
  outcome.reference_moves = false;
  log_.line(request, outcome, jumps_.sum());
}

void ActiveMode::selection_step(Trajectory &run)
{
  if (run.step() % options_.every != 0) return;
  if (!run.has_scores() || !learning_.calibration().is_known())
    throw Error("'mode active' with 'reference run' needs a model that knows what its "
                "uncertainties mean, such as 'save' of a run with 'mode active' writes it: " +
                slot_->path + " does not");
  ++looked_at_;
  const double expected = look(run).expected;
  if (!(expected > learning_.threshold()) ||
      (options_.duplicate > 0.0 && distance(run) < options_.duplicate))
    return;
  WholeFrame frame = run.configuration();
  training_.select(frame, formatted("expected_error=%.6g", expected));
  messages_.table(formatted(
      "dptrain %10lld selected, expected error %.4g, %lld of %lld configurations",
      static_cast<long long>(step_), expected * options_.units.force(),
      static_cast<long long>(training_.counters().frames), static_cast<long long>(looked_at_)));
}

double ActiveMode::distance(const Trajectory &run) const
{
  if (!run.has_scores()) return HUGE_VAL;
  std::vector<double> features = run.feature_sum();
  comm_->all_reduce_sum(features.data(), features.size());
  return training_.uncertainty().distance(features, run.natoms());
}

// ---- an answer

// One of `holdout` labels is held out: an early one, or an audit, whatever it has found.
bool ActiveMode::is_held_out(const LabelRequest &request) const
{
  const SessionCounters &counters = training_.counters();
  if (options_.holdout == 0 || !request.has_scores ||
      (counters.held_out + 1) * options_.holdout > counters.frames + 1)
    return false;
  return request.ask == Ask::audit || request.ask == Ask::young;
}

// Compares the model with a label, and stores it unless it tells nothing new. The run may have gone on since the request.
Outcome ActiveMode::judge(LabelRequest &request, const Label &label)
{
  Outcome outcome;
  ForceErrors errors;
  if (request.has_scores) {
    errors = force_errors(request.force, label);
    outcome.max_error = found_error_ = errors.max;
    outcome.rms_error = errors.rms;
  }
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
    learning_.compare({request.score, errors.max, errors.rms}, request.ask, errors.label_rms);
  slot_->calibration = learning_.calibration();
  training_.active_state() = learning_.state();
  if (!desk_->within_limit(request, label)) return outcome;
  outcome.fate = held_out ? Fate::held_out : Fate::learned;
  request.frame.label = label;
  request.frame.held_out = held_out;
  training_.add(request.frame);
  return outcome;
}

// Of the request that this run waits for.
Outcome ActiveMode::judge_and_learn(LabelRequest &request, const Label &label)
{
  if (group_) {
    awaited_ = request.id;
    brought_.push_back({request, label});
    while (!awaited_outcome_) {
      meet();
      if (!awaited_outcome_) nap();
    }
    awaited_.reset();
    return *std::exchange(awaited_outcome_, {});
  }
  const Outcome outcome = judge(request, label);
  desk_->settle(request.id);
  if (outcome.stored()) learn_from_labels();
  return outcome;
}

// The optimizer steps that the labels have earned, and what follows from them.
void ActiveMode::learn_from_labels()
{
  training_.train();
  finish_learning();
}

void ActiveMode::finish_learning()
{
  pace_.end();
  refresh_scores();
  forget_learned();
  if (late_error_ratio_ > 0.0) learning_.learned(late_error_ratio_ * training_.latest_error());
  late_error_ratio_ = 0.0;
}

// The forces with which the run goes on from an answer: those of the model, which may have learned from it, unless it is
// young or still wrong here, or those of the reference.
void ActiveMode::move_on(Trajectory &run, const LabelRequest &request, const Label &label,
                         Outcome &outcome)
{
  const bool trained = training_.counters().trained && slot_->has_uncertainty();
  outcome.reference_moves = !trained || learning_.is_young() || options_.follow_reference;
  const bool changed = std::exchange(model_changed_, false);
  if (trained && (outcome.fate == Fate::learned || changed)) {
    run.evaluate_again();
    outcome.learned_error = force_errors(run.forces(), label).max;
    if (request.has_scores) keep_scale(run, request.score);
    learning_.learned(outcome.learned_error);
    if (outcome.learned_error > learning_.limit()) outcome.reference_moves = true;
    if (!outcome.reference_moves) run.follow_model();
  } else if (outcome.max_error > learning_.limit()) {
    outcome.reference_moves = true;
  }
  if (outcome.reference_moves) run.follow(label);
  model_moves_ = !outcome.reference_moves;
}

// The uncertainties of a given model come from features that its parameters gave; with every training here they mean less,
// and grow. What was expected at a configuration before is not less true once it has been learned.
void ActiveMode::keep_scale(const Trajectory &run, double score)
{
  // runs that learn together have one scale, to which their labels bring it back
  if (group_ || training_.uncertainty().given_whitening.empty()) return;
  const double now = largest_score(run);
  if (!(now > score)) return;
  learning_.rescale(score / now);
  slot_->calibration = learning_.calibration();
}

// What the next steps and the next run need to know of an answer.
void ActiveMode::note_answer(const Trajectory &run, const LabelRequest &request, const Label &label)
{
  const double after = slot_->has_uncertainty() ? model_energy(run) : 0.0;
  jumps_.asked(request.energy, after, label.energy.value_or(0.0), !model_moves_);
  SessionCounters &counters = training_.counters();
  counters.answer_step = request.frame.step;
  counters.answer_energy = after;
  counters.reference_moved = !model_moves_;
  training_.active_state() = learning_.state();
}

// ---- answers that come while the run goes on

// Above the limit the run waits, and where the reference moves the atoms, too.
bool ActiveMode::may_leave(const LabelRequest &request) const
{
  return options_.asynchronous > 0 && model_moves_ &&
         (request.ask == Ask::threshold || request.ask == Ask::audit);
}

// One that is like another that will be learned anyway is not worth a label.
bool ActiveMode::resembles_unlearned(const Trajectory &run) const
{
  if (unlearned_.empty()) return false;
  std::vector<double> features = run.feature_sum();
  comm_->all_reduce_sum(features.data(), features.size());
  const std::int64_t natoms = run.natoms();
  return std::any_of(unlearned_.begin(), unlearned_.end(), [&](const Unlearned &one) {
    return one.natoms == natoms &&
           training_.uncertainty().distance(one.feature_sum, features, natoms) < options_.duplicate;
  });
}

void ActiveMode::forget_learned()
{
  const auto is_learned = [this](const Unlearned &one) { return !desk_->is_left(one.request); };
  unlearned_.erase(std::remove_if(unlearned_.begin(), unlearned_.end(), is_learned),
                   unlearned_.end());
}

// The run goes on with the model. What is not learned yet counts as in flight: until then the model asks for the same again.
void ActiveMode::leave(Trajectory &run, LabelRequest &request)
{
  const Ask why = std::exchange(request.ask, Ask::no);
  if (!training_.owes_steps()) forget_learned();  // also those that taught nothing
  if (static_cast<int>(unlearned_.size()) >= options_.asynchronous || resembles_unlearned(run))
    return;
  LabelRequest left = request;
  left.ask = why;
  desk_->submit(run, left);
  desk_->leave(left.id);
  unlearned_.push_back({left.id, left.feature_sum, left.natoms()});
  SessionCounters &counters = training_.counters();
  counters.answer_step = step_;
  counters.answer_energy = left.energy;
  counters.reference_moved = false;
}

void ActiveMode::take_answers()
{
  if (desk_->num_left() > 0)
    for (AnsweredRequest &answer : desk_->collect()) brought_.push_back(std::move(answer));
  if (!group_) judge_all(std::exchange(brought_, {}));
}

// The same in all runs that learn together, in the same order.
void ActiveMode::judge_all(std::vector<AnsweredRequest> answers)
{
  for (auto &[request, label, asker] : answers) {
    Outcome outcome = judge(request, label);
    if (outcome.fate == Fate::learned && outcome.rms_error > 0.0)
      late_error_ratio_ = outcome.max_error / outcome.rms_error;
    if (group_ && asker != group_->index()) continue;
    desk_->settle(request.id);
    if (awaited_ == request.id) {
      awaited_outcome_ = outcome;
      continue;
    }
    outcome.is_late = true;
    outcome.reference_moves = false;
    log_.line(request, outcome, jumps_.sum());
  }
}

void ActiveMode::wait_for_answer()
{
  const std::int64_t before = desk_->num_left();
  while (desk_->num_left() == before) {
    desk_->wait();
    take_answers();
    if (group_) meet();
  }
}

// At a step: labels that have come, and a slice of the training when it is due.
void ActiveMode::learn_beside(Trajectory &run)
{
  model_changed_ = false;
  take_answers();
  if (group_ && !group_->meets(offer())) return;
  if (!group_ && (!training_.owes_steps() || !run.has_scores() || learning_.is_young())) return;
  learn_and_go_on(run, [this] { return learn_slice(); });
}

// A slice of the training, if one is due. Runs that learn together do it together, when they meet, and do all of it where one of
// them waits for it.
bool ActiveMode::learn_slice()
{
  if (group_) {
    const std::int64_t calls = desk_->take_new_calls();
    training_.counters().reference_calls += group_->sum_over_runs(calls) - calls;
    judge_all(group_->exchange(std::exchange(brought_, {})));
  }
  if (!training_.owes_steps()) return false;
  const bool all = group_ && (group_->sum().awaited > 0 || options_.asynchronous == 0);
  double seconds = all ? TrainingPace::everything : pace_.due(TrainingPace::Clock::now());
  (group_ ? *group_->everyone() : *comm_).broadcast(&seconds, sizeof(seconds), 0);
  if (seconds == 0.0) return false;
  training_.train_for(seconds);
  if (training_.owes_steps())
    pace_.slice_done(TrainingPace::Clock::now());
  else
    finish_learning();
  return true;
}

// The model changes amid a step: its energy jumps.
void ActiveMode::learn_and_go_on(Trajectory &run, const std::function<bool()> &learn)
{
  const bool has_model = run.has_scores();
  const double energy = has_model ? model_energy(run) : 0.0,
               score = has_model ? largest_score(run) : 0.0;
  if (!learn() || !has_model) return;
  run.evaluate_again();
  if (!training_.owes_steps()) keep_scale(run, score);
  run.follow_model();
  jumps_.learned(energy, model_energy(run));
}

// Above the limit the run waits for what is with the reference, learns it, and looks at the step again.
void ActiveMode::catch_up(Trajectory &run, LabelRequest &request)
{
  while (request.ask == Ask::limit && (desk_->num_left() > 0 || training_.owes_steps())) {
    learn_and_go_on(run, [this] {
      if (!training_.owes_steps()) wait_for_answer();
      if (group_)
        wait_for_training();
      else
        learn_from_labels();
      return true;
    });
    request = look(run);
    decide(request);
  }
}

// ---- those who learn together

// The clock of the first run decides about slices.
ReplicaGroup::Offer ActiveMode::offer()
{
  ReplicaGroup::Offer offer;
  offer.labels = static_cast<std::int64_t>(brought_.size());
  offer.awaited = (awaited_ && !awaited_outcome_) || waits_for_training_ ? 1 : 0;
  offer.wants_training =
      group_->index() == 0 && training_.owes_steps() && pace_.due(TrainingPace::Clock::now()) > 0.0;
  return offer;
}

// While the run waits: if all meet now, it takes part.
void ActiveMode::meet()
{
  if (group_->meets(offer())) model_changed_ = learn_slice() || model_changed_;
}

void ActiveMode::wait_for_training()
{
  waits_for_training_ = true;
  while (training_.owes_steps()) {
    meet();
    if (training_.owes_steps()) nap();
  }
  waits_for_training_ = false;
}

// What ends first helps the others, until all have come to an end.
void ActiveMode::rest(bool leaves)
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
    learn_from_labels();
    training_.save();
    if (!leaves || group_->all_have_left()) return;
  }
}

void ActiveMode::leave_group()
{
  if (group_) rest(true);
}

// ---- messages

void ActiveMode::tell_progress()
{
  log_.progress(step_, last_step_, desk_->num_left(), expected_error_, learning_);
}

void ActiveMode::stop_above_limit(const LabelRequest &request)
{
  if (!group_) training_.save();  // the others do not know of it
  const double unit = options_.units.force();
  throw Error(
      formatted("step %lld: an atom's force error of %.4g is expected, above the limit %.4g "
                "('limit ... stop')",
                static_cast<long long>(step_), request.expected * unit, learning_.limit() * unit));
}

}  // namespace dptrain
