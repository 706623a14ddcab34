#include "session/asking/active_mode.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "session/requests/displaced_copy.h"

namespace dptrain {

using Fate = Outcome::Fate;

namespace {

// Steps between two labels of a young model. Each of its steps is a call of the reference, which moves the atoms: labels that are
// further apart would cost more calls, closer ones tell less.
constexpr std::int64_t young_every = 3;

}  // namespace

ActiveMode::ActiveMode(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelSlot> slot,
                       OnlineTraining &training, RequestBook *book, ReplicaGroup *group,
                       const LearningOptions &options, const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    training_(training),
    book_(book),
    options_(options),
    messages_(messages),
    log_(training.counters(), options, messages),
    healing_(options.rewind, options.units, messages),
    learning_(make_learner({comm_, slot_, training_, book_, healing_, options_,
                            [this](const LabelRequest &request, const Outcome &outcome) {
                              log_.line(request, outcome, jumps_.sum());
                            }},
                           group)),
    decisions_(learning_->decisions())
{
  jumps_.set_sum(training_.counters().energy_jumps);
  prepares_ = options_.prepare.copies > 0;
  if (options_.cutout.radius > 0.0) cutouts_.emplace(comm_, slot_, options_, messages_);
  if (!book_) return;
  book_->while_waiting(
      [this] {
        tell_progress();
        learning_->synchronize();
      },
      learning_->poll_interval());
}

void ActiveMode::begin_run(std::int64_t step)
{
  if (run_open_) return;  // rerun sets up each of its configurations
  run_open_ = true;
  log_.open(step, jumps_.sum());
  jumps_.begin();
  healing_.begin_run(step);
  if (!options_.selects) log_.begin();
}

void ActiveMode::end_run(std::int64_t step, const std::string &name)
{
  run_open_ = false;
  const double unit = options_.units.force();
  if (options_.selects)
    return messages_.table(fmt::format(
        "{}: {} of {} configurations selected, threshold {:.4g} (force units): {}", name,
        training_.counters().frames, looked_at_, decisions_.threshold() * unit, options_.dataset));
  learning_->take_answers();
  while (book_->num_left() > 0 && !book_->outlives_program()) learning_->wait_for_answer();
  learning_->end_run();
  const UpdateReport &batch = training_.report();
  log_.summary(name, step, decisions_, batch.step > 0 ? batch.rmse("f") : 0.0, held_out_error(),
               jumps_.sum());
  const std::string cutouts = cutouts_ ? cutouts_->take_summary() : "";
  if (!cutouts.empty()) messages_.table(cutouts);
  log_.warn_of_poor_model(decisions_, held_out_error());
  if (book_->num_left() > 0)
    messages_.info(fmt::format("{} configurations are still with the reference: the next run takes "
                               "up their labels, or a later one with 'resume'",
                               book_->num_left()));
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

LabelRequest ActiveMode::look(const Trajectory &run)
{
  LabelRequest request;
  step_ = run.step();
  last_step_ = run.last_step();
  request.has_scores = run.has_scores();
  if (request.has_scores) {
    request.score = largest_score(run);
    request.expected = decisions_.expected_error(request.score);
  }
  expected_error_ = request.expected;
  return request;
}

// The first step of a run is the last one of the run before: it has been asked about, and is not asked about again.
bool ActiveMode::continues_from_answer(const Trajectory &run) const
{
  const SessionCounters &counters = training_.counters();
  return step_ == log_.first_step() && counters.answer_step == step_ && run.has_scores() &&
         same_energy(counters.answer_energy, total_energy(*comm_, run));
}

bool ActiveMode::is_due(const LabelRequest &request) const
{
  const bool young = !request.has_scores || decisions_.is_young();
  // the sooner it is compared, the sooner several clients have work; but the forces of a first step may be those of a lattice: zero
  if (young && request.has_scores && options_.asynchronous > 0) return step_ > log_.first_step();
  return step_ % (young ? std::min(options_.every, young_every) : options_.every) == 0;
}

void ActiveMode::decide(LabelRequest &request)
{
  const bool due = is_due(request);
  request.ask = request.has_scores ? decisions_.decide(step_, due, request.score)
                                   : (due ? Ask::young : Ask::no);
  model_moves_ = request.has_scores && !decisions_.is_young();
  if (due) log_.watch_threshold(step_, request.ask, decisions_);
}

// Several clients work side by side here, which they cannot do where the reference moves the atoms. A run that goes on with those
// that an earlier one has asked for makes no others.
void ActiveMode::prepare(Trajectory &run)
{
  step_ = run.step();
  last_step_ = run.last_step();
  const auto any_open = [this] {
    return book_->any_left([](const LabelRequest &left) { return left.ask == Ask::prepare; });
  };
  if (training_.counters().frames == 0 && book_->num_left() == 0)
    ask_for_copies(run);
  else if (!any_open())
    return;
  while (any_open()) learning_->wait_for_answer();
  const bool had_scores = run.has_scores();
  learn_and_go_on(run, [this] {
    learning_->train_pending();
    return true;
  });
  if (had_scores || !training_.counters().trained || !slot_->has_uncertainty()) return;
  run.evaluate_again();
  run.follow_model();
}

// Runs that learn together have copies of their own.
void ActiveMode::ask_for_copies(Trajectory &run)
{
  const WholeFrame start = run.configuration();
  const std::uint64_t seed =
      options_.seed.value_or(1) + static_cast<std::uint64_t>(learning_->run_index());
  for (int k = 0; k < options_.prepare.copies; ++k) {
    LabelRequest request;
    request.ask = Ask::prepare;
    request.frame = displaced_copy(start, options_.prepare, k, seed);
    book_->leave(request);
    learning_->take_answers();  // of who computes at once
  }
}

void ActiveMode::step(Trajectory &run)
{
  if (std::exchange(prepares_, false)) prepare(run);
  learn_beside(run);
  LabelRequest request = look(run);
  if (continues_from_answer(run)) {
    model_moves_ = !training_.counters().reference_moved;
    jumps_.begin(!model_moves_);
  } else {
    decide(request);
    if (request.ask == Ask::limit) catch_up(run, request);
    if (model_moves_ && healing_.look(run) && (request.ask == Ask::no || may_leave(request)))
      request.ask = Ask::rewind;
  }
  if (may_leave(request)) leave(run, request);
  if (request.ask == Ask::no && model_moves_)
    jumps_.not_asked();
  else
    ask(run, request);
  // a jump may also end at a step without an answer
  training_.counters().energy_jumps = jumps_.sum();
  heal(run);
  tell_progress();
}

// What the model learned stays; where the run goes back, the energy does not jump by what the model says of two places.
void ActiveMode::heal(Trajectory &run)
{
  if (!healing_.is_on()) return;
  SelfHealing::Step now;
  now.answered = answered_step_ == step_;
  now.model_moves = model_moves_;
  now.fine = decisions_.is_young() || expected_error_ <= decisions_.threshold() ||
             (now.answered && found_error() <= decisions_.limit());
  if (healing_.finish(run, now)) jumps_.begin();
}

void ActiveMode::rescue(Trajectory &run, const std::string &why)
{
  if (healing_.rescue(run, why)) return jumps_.begin();
  learning_->save_before_error();
  throw Error(
      fmt::format("step {}: {}; the run cannot go on, and {}. Model, checkpoint and labels are "
                  "saved where 'save' names them. Let the model learn more before it moves the "
                  "atoms ('every', 'threshold', 'train'), keep atoms apart ('guard'), use a "
                  "shorter time step or a lower temperature, or allow more rewinds",
                  run.step(), why, healing_.refusal()));
}

std::optional<Label> ActiveMode::answer_to(Trajectory &run, LabelRequest &request)
{
  if (request.ask == Ask::limit && options_.limit_stops) stop_above_limit(request);
  book_->describe(run, request);
  book_->submit(request);
  return book_->await(request);
}

void ActiveMode::ask(Trajectory &run, LabelRequest &request)
{
  if (cutouts_ && ask_around(run, request)) return;
  const std::optional<Label> label = answer_to(run, request);
  if (!label) return go_on_with_model(run);
  if (request.ask == Ask::no) {
    run.follow(*label);
    model_moves_ = false;
    return note_answer(run, request, *label);
  }
  Outcome outcome = learning_->judge_awaited(request, *label);
  if (outcome.stored()) learning_->train_pending();
  move_on(run, request, *label, outcome);
  note_answer(run, request, *label);
  log_.line(request, outcome, jumps_.sum());
}

double ActiveMode::distance(const Trajectory &run) const
{
  if (!run.has_scores()) return HUGE_VAL;
  return training_.uncertainty().distance(total_features(*comm_, run), run.natoms());
}

// ---- an answer

// The forces with which the run goes on from an answer: those of the model, which may have learned from it, unless it is
// young or still wrong here, or those of the reference.
void ActiveMode::move_on(Trajectory &run, const LabelRequest &request, const Label &label,
                         Outcome &outcome)
{
  const bool trained = training_.counters().trained && slot_->has_uncertainty();
  outcome.reference_moves = !trained || decisions_.is_young() || options_.follow_reference;
  double error = outcome.max_error;
  const bool learned = outcome.fate == Fate::learned && !training_.is_deferred();
  const bool changed = learning_->take_change() || learned;
  if (trained && changed) {
    run.evaluate_again();
    error = force_errors(run.forces(), label).max;
    if (request.has_scores) keep_scale(run, request.score);
  }
  if (trained && learned) {
    outcome.learned_error = error;
    learning_->learned(error);
  }
  if (error > decisions_.limit()) outcome.reference_moves = true;
  if (outcome.reference_moves)
    run.follow(label);
  else if (trained && changed)
    run.follow_model();
  model_moves_ = !outcome.reference_moves;
}

// The uncertainties of a given model come from features that its parameters gave; with every training here they mean less,
// and grow. What was expected at a configuration before is not less true once it has been learned.
void ActiveMode::keep_scale(const Trajectory &run, double score)
{
  // runs that learn together have one scale, to which their labels bring it back
  if (learning_->is_shared() || training_.uncertainty().given_whitening.empty()) return;
  const double now = largest_score(run);
  if (!(now > score)) return;
  decisions_.rescale(score / now);
  slot_->calibration = decisions_.calibration();
}

// What the next steps and the next run need to know of an answer.
void ActiveMode::note_answer(const Trajectory &run, const LabelRequest &request, const Label &label)
{
  const double after = slot_->has_uncertainty() ? total_energy(*comm_, run) : 0.0;
  jumps_.asked(request.energy, after, label.energy.value_or(0.0), !model_moves_);
  SessionCounters &counters = training_.counters();
  counters.answer_step = answered_step_ = request.frame.step;
  counters.answer_energy = after;
  counters.reference_moved = !model_moves_;
  training_.active_state() = decisions_.state();
}

// Without a label. Others may have taught the model something meanwhile.
void ActiveMode::go_on_with_model(Trajectory &run)
{
  if (learning_->take_change()) {
    run.evaluate_again();
    run.follow_model();
  }
  model_moves_ = true;
  jumps_.not_asked();
}

void ActiveMode::leave_group()
{
  learning_->leave_group();
}

// ---- messages

void ActiveMode::tell_progress()
{
  log_.progress(step_, last_step_, book_->num_left(), expected_error_, decisions_);
}

void ActiveMode::stop_above_limit(const LabelRequest &request)
{
  learning_->save_before_error();
  const double unit = options_.units.force();
  throw Error(fmt::format("step {}: an atom's force error of {:.4g} is expected, above the limit "
                          "{:.4g} ('limit ... stop'): train longer, or give a larger limit",
                          step_, request.expected * unit, decisions_.limit() * unit));
}

}  // namespace dptrain
