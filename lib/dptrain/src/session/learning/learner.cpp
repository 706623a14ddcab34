#include "session/learning/learner.h"

#include <algorithm>
#include <utility>

#include "session/learning/learner_alone.h"
#include "session/learning/learner_in_group.h"

namespace dptrain {

using Fate = Outcome::Fate;

namespace {

ActiveConfig active_config(const LearningOptions &options)
{
  ActiveConfig config;
  config.accuracy = options.accuracy;
  config.limit = options.limit;
  config.late = options.asynchronous > 0;
  config.audit = options.audit;
  config.coverage = options.coverage;
  config.seed = options.training.seed.value_or(1);
  return config;
}

}  // namespace

Learner::Learner(Parts parts) :
    training_(parts.training),
    book_(parts.book),
    options_(parts.options),
    run_(std::move(parts.run)),
    slot_(std::move(parts.slot)),
    healing_(parts.healing),
    on_late_answer_(std::move(parts.on_late_answer)),
    decisions_(active_config(options_)),
    pace_(options_.train_share)
{
  const State &state =
      training_.active_state().empty() ? slot_->active_state() : training_.active_state();
  if (!state.empty()) {
    state.read(decisions_);
    // of a given model the frames are not here: what they said of its errors is forgotten
    if (training_.counters().frames.stored == 0)
      decisions_.set_learned({0.0, 0.0, decisions_.learned().force});
    training_.active_state() = state_of(decisions_);
  }
  if (slot_->model()) decisions_.set_given_bars(slot_->model()->bars());
  refresh_bars();
}

// What follows from the present parameters and frames: error bars, and the error on held-out frames.
void Learner::refresh_bars()
{
  set_bars();
  training_.refresh_bars();
  held_out_ = training_.held_out_error();
  set_bars();
}

// The answers so far say how large they are.
void Learner::set_bars()
{
  if (!slot_->model()) return;
  const ErrorBars bars = decisions_.bars(slot_->type_map().size());
  if (bars.is_known()) training_.bar_monitor().set_bars(bars);
  LearnedFrames learned = training_.bar_monitor().learned();
  if (training_.is_deferred()) learned.frames = 0;  // they are not learned yet
  if (learned.force > 0.0) decisions_.set_learned(learned);
}

// ---- an answer

// One of `holdout` labels is held out: an early one, or an audit, whatever it has found.
bool Learner::is_held_out(const LabelRequest &request) const
{
  const FrameCounts &counts = training_.counters().frames;
  if (options_.holdout == 0 || !request.has_bars ||
      (counts.held_out + 1) * options_.holdout > counts.stored + 1)
    return false;
  return request.ask == Ask::audit || request.ask == Ask::early;
}

// Of a request of this run, when its answer has come.
void Learner::queue(AnsweredRequest answer)
{
  const LabelRequest &request = answer.request;
  answer.is_doubted = book_->is_doubted(request.id);
  if (request.has_bars && !answer.is_doubted) {
    const ForceErrors errors = answer.errors = force_errors(request.force, answer.label);
    if (request.ask != Ask::early)
      healing_.compare(request.frame.step, request.expected, errors.max, decisions_.trouble());
    answer.is_outlier =
        healing_.is_outlier(request.frame.step, errors.label_rms, decisions_.force());
  }
  queued_.push_back(std::move(answer));
}

// Compares the model with a label, and stores it unless it tells nothing new. The run may have gone on since the request.
Outcome Learner::judge(AnsweredRequest &answer)
{
  auto &[request, label, errors, is_outlier, is_doubted, run] = answer;
  Outcome outcome;
  outcome.max_error = errors.max;
  outcome.rms_error = errors.rms;
  outcome.is_doubted = is_doubted;
  if (request.has_bars && !is_doubted && run == run_index()) found_error_ = errors.max;
  if (is_outlier || is_doubted) return outcome;
  if (training_.is_latest(request.frame, label)) return outcome;
  const bool held_out = is_held_out(request);
  // features do not see how close atoms are inside of a wall
  if (!held_out && request.has_bars && request.ask != Ask::wall && options_.duplicate > 0.0 &&
      training_.bar_monitor().distance(request.feature_sum, request.natoms()) <
          options_.duplicate) {
    outcome.fate =
        Fate::duplicate;  // of the same configuration: it tells nothing new of the errors
    return outcome;
  }
  if (request.has_bars)
    decisions_.compare({request.expected, errors.max, atom_errors(request, label)}, request.ask,
                       errors.label_rms);
  set_bars();
  training_.active_state() = state_of(decisions_);
  if (!book_->within_limit(request, label)) return outcome;
  // copies are made to be learned
  if ((request.has_bars && decisions_.is_wrong(errors.rms, errors.max)) ||
      request.ask == Ask::prepare)
    training_.start_training();
  outcome.fate = held_out ? Fate::held_out : Fate::learned;
  request.frame.label = label;
  request.frame.held_out = held_out;
  training_.add(request.frame);
  return outcome;
}

void Learner::learn()
{
  training_.train();
  finish();
}

// All that was owed has been learned.
void Learner::finish()
{
  pace_.end();
  refresh_bars();
}

// ---- answers that come while the run goes on

bool Learner::has_room() const
{
  return !training_.owes_steps() && book_->num_left() < options_.asynchronous;
}

bool Learner::resembles_left(const LabelRequest &request) const
{
  return book_->any_left([&](const LabelRequest &left) {
    return left.has_bars && left.natoms() == request.natoms() &&
           training_.bar_monitor().distance(left.feature_sum, request.feature_sum,
                                            request.natoms()) < options_.duplicate;
  });
}

void Learner::take_answers()
{
  if (book_->num_left() > 0)
    for (AnsweredRequest &answer : book_->collect()) queue(std::move(answer));
}

// The same in all runs that learn together, in the same order.
void Learner::judge_all(std::vector<AnsweredRequest> answers)
{
  for (AnsweredRequest &answer : answers) {
    const LabelRequest &request = answer.request;
    Outcome outcome = judge(answer);
    const bool is_awaited = answer.run == run_index() && awaited_ == request.id;
    if (answer.run != run_index()) continue;
    book_->settle(request.id);
    if (is_awaited) {
      awaited_outcome_ = outcome;
      continue;
    }
    outcome.is_late = true;
    outcome.reference_moves = false;
    on_late_answer_(request, outcome);
  }
}

void Learner::wait_for_answer()
{
  const std::int64_t before = book_->num_left();
  while (book_->num_left() == before) {
    book_->wait();
    take_answers();
    synchronize();
  }
}

// A slice of the training.
void Learner::train_for(double seconds)
{
  training_.train_for(seconds);
  if (training_.owes_steps())
    pace_.slice_done(TrainingPace::Clock::now());
  else
    finish();
}

std::unique_ptr<Learner> make_learner(Learner::Parts parts, ReplicaGroup *group)
{
  if (group) return std::make_unique<LearnerInGroup>(std::move(parts), *group);
  return std::make_unique<LearnerAlone>(std::move(parts));
}

}  // namespace dptrain
