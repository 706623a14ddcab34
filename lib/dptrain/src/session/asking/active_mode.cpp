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

// Steps between two labels of a new model. Each of its steps is a call of the reference, which moves the atoms: labels that are
// further apart would cost more calls, closer ones tell less.
constexpr std::int64_t early_every = 3;
// Part of the limit above which bars are looked at at every step.
constexpr double near_limit = 0.5;

}  // namespace

ActiveMode::ActiveMode(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelInUse> slot,
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
  jumps_.set_sum(training_.counters().answer.energy_jumps);
  prepares_ = options_.prepare.copies > 0;
  if (options_.cutout.radius > 0.0) cutouts_.emplace(comm_, slot_, options_, messages_);
  if (!book_) return;
  book_->while_waiting(
      [this] {
        log_.progress(book_->num_left(), decisions_);
        learning_->synchronize();
      },
      learning_->poll_interval());
}

void ActiveMode::begin_run(std::int64_t step)
{
  if (run_open_) return;  // rerun sets up each of its configurations
  run_open_ = true;
  looks_ = 0;
  slot_->set_bars_due([this](std::int64_t now) { return looks_at_bars(now); });
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
    return messages_.table(
        fmt::format("{}: {} of {} configurations selected, threshold {:.4g} (force units): {}",
                    name, training_.counters().frames.stored, looked_at_,
                    decisions_.threshold() * unit, options_.files.dataset));
  learning_->take_answers();
  while (book_->num_left() > 0 && !book_->outlives_program()) learning_->wait_for_answer();
  learning_->end_run();
  const UpdateReport &batch = training_.report();
  log_.summary(name, step, decisions_, slot_->model() ? slot_->model()->bars() : ErrorBars(),
               slot_->type_map(), batch.step > 0 ? batch.rmse("f") : 0.0, learning_->held_out(),
               jumps_.sum());
  const std::string cutouts = cutouts_ ? cutouts_->take_summary() : "";
  if (!cutouts.empty()) messages_.table(cutouts);
  log_.warn_of_error(decisions_, learning_->held_out());
  if (book_->num_left() > 0)
    messages_.info(fmt::format("{} configurations are still with the reference: the next run takes "
                               "up their labels, or a later one with 'resume'",
                               book_->num_left()));
  // `run ... pre no` has no beginning but the end of the run before
  log_.open(step, jumps_.sum());
}

// A label is asked for, judged, learned and followed here, in this order.
void ActiveMode::step(Trajectory &run)
{
  if (!is_exploring_) keep_temperature(run);
  learn_what_has_come(run);
  StepView now = look(run);
  decide(run, now);
  std::vector<LabelRequest> requests = ask_or_leave(run, now);
  std::vector<Answer> answers = judge(std::move(requests));
  learn(answers);
  choose_forces(run, now, answers);
  recover(run, now);
}

// ---- look

// The distances cost half as much as the model. Between two steps at which the threshold counts they are looked at where they
// have come near the limit; atoms that come close to each other, which is what happens suddenly, are seen at every step.
bool ActiveMode::looks_at_bars(std::int64_t step) const
{
  return step % options_.every == 0 || decisions_.is_early() || step == log_.first_step() ||
         !(expected_error() <= near_limit * decisions_.limit());
}

ActiveMode::Sight ActiveMode::see(const Trajectory &run, bool with_bars)
{
  double largest = 0.0;
  if (with_bars)
    for (const double bar : run.bars())
      if (!(bar <= largest)) largest = bar;  // takes over what is not a number
  if (!std::isfinite(largest)) largest = HUGE_VAL;
  const NeighborReport report = slot_->model()->neighbor_report();
  const double distance = report.below_known;
  double values[3] = {largest, distance > 0.0 ? 1.0 / distance : 0.0,
                      report.wall.is_touched() ? 1.0 : 0.0};
  comm_->all_reduce_max(values, 3);
  if (values[1] > 0.0) log_.warn_of_close_atoms(1.0 / values[1]);
  return {values[0], values[2] > 0.0};
}

ActiveMode::StepView ActiveMode::look(const Trajectory &run)
{
  StepView now;
  now.step = run.step();
  log_.at(now.step, run.last_step());
  LabelRequest &request = now.request;
  request.has_bars = run.has_bars();
  if (request.has_bars) {
    now.has_looked = looks_at_bars(now.step);
    const Sight seen = see(run, now.has_looked);
    if (slot_->model()->bars().is_known())
      request.expected = now.has_looked ? seen.bar : expected_error();
    now.close = seen.close;
  }
  log_.expect(request.expected);
  return now;
}

// ---- decide

// The first step of a run is the last one of the run before: it has been asked about, and is not asked about again.
bool ActiveMode::continues_from_answer(const Trajectory &run, const StepView &now) const
{
  const AnswerState &answer = training_.counters().answer;
  return now.step == log_.first_step() && answer.step == now.step && run.has_bars() &&
         same_energy(answer.energy, total_energy(*comm_, run));
}

bool ActiveMode::is_due(const StepView &now) const
{
  const bool has_bars = now.request.has_bars, early = !has_bars || decisions_.is_early();
  // the sooner it is compared, the sooner several clients have work; but the forces of a first step may be those of a lattice: zero
  if (early && has_bars && options_.asynchronous > 0) return now.step > log_.first_step();
  return now.step % (early ? std::min(options_.every, early_every) : options_.every) == 0;
}

void ActiveMode::choose_ask(StepView &now)
{
  LabelRequest &request = now.request;
  const bool due = is_due(now);
  request.ask = request.has_bars ? decisions_.decide(now.step, due, request.expected, now.close)
                                 : (due ? Ask::early : Ask::no);
  now.model_moves = request.has_bars && !decisions_.is_early();
  log_.tell_out_of_reach(decisions_);
  log_.tell_low_limit(decisions_, options_.limit);
  if (!decisions_.is_early()) log_.tell_large_accuracy(decisions_);
}

void ActiveMode::decide(Trajectory &run, StepView &now)
{
  if (continues_from_answer(run, now)) {
    now.model_moves = !training_.counters().answer.reference_moved;
    return jumps_.begin(!now.model_moves);
  }
  choose_ask(now);
  if (now.request.ask != Ask::no && now.request.has_bars && !now.has_looked &&
      slot_->model()->bars().is_known())
    now.request.expected = see(run).bar;
  if (now.request.ask == Ask::limit) catch_up(run, now);
  if (now.model_moves && !is_exploring_ && healing_.look(run) &&
      (now.request.ask == Ask::no || may_leave(now)))
    now.request.ask = Ask::rewind;
}

// ---- ask, judge, learn

// None where the run goes on with the model. With cut-outs it does so also while the model is new: nobody else moves the atoms.
std::vector<LabelRequest> ActiveMode::ask_or_leave(Trajectory &run, StepView &now)
{
  if (may_leave(now)) leave(run, now);
  const bool model_moves = now.model_moves || (cutouts_ && !cutouts_->is_whole());
  if (now.request.ask == Ask::no && model_moves) return {};
  return ask(run, now);
}

// All cut-outs are handed over before the first answer is awaited: where there are several clients, they work side by side.
std::vector<LabelRequest> ActiveMode::ask(Trajectory &run, StepView &now)
{
  if (now.request.ask == Ask::limit && options_.limit_stops) stop_above_limit(now);
  std::vector<LabelRequest> requests = requests_for(run, now);
  now.whole_asked = !requests.front().is_cutout();
  for (LabelRequest &request : requests) book_->submit(request);
  return requests;
}

// The surroundings of the worst atoms with `cutout`, else the whole configuration.
std::vector<LabelRequest> ActiveMode::requests_for(Trajectory &run, StepView &now)
{
  std::vector<LabelRequest> requests;
  if (cutouts_ && now.request.ask != Ask::no) {
    now.request.frame.step = now.step;
    now.request.energy = total_energy(*comm_, run);
    requests = cutouts_->at(run, now.request, decisions_, training_.bar_monitor());
    if (!requests.empty()) return requests;
  }
  requests.push_back(now.request);
  book_->describe(run, requests.front());
  if (requests.front().has_bars && requests.front().ask != Ask::no)
    requests.front().set_bars(run.all_bars(), slot_->model()->bars());
  now.request.energy = requests.front().energy;
  return requests;
}

// Each label is stored before the next one is awaited. One that is asked only to move the atoms is not judged.
std::vector<ActiveMode::Answer> ActiveMode::judge(std::vector<LabelRequest> requests)
{
  std::vector<Answer> answers;
  double found = 0.0;
  for (LabelRequest &request : requests) {
    const std::optional<Label> label = book_->await(request);
    if (!label) continue;
    Outcome outcome;
    if (request.ask != Ask::no) outcome = learning_->judge_awaited(request, *label);
    if (request.is_cutout()) outcome.reference_moves = false;
    found = std::max(found, outcome.max_error);
    answers.push_back({std::move(request), *label, outcome});
  }
  if (!answers.empty() && answers.front().request.is_cutout()) learning_->set_found_error(found);
  return answers;
}

void ActiveMode::learn(const std::vector<Answer> &answers)
{
  if (std::any_of(answers.begin(), answers.end(),
                  [](const Answer &answer) { return answer.outcome.stored(); }))
    learning_->train_pending();
}

// ---- choose forces

// Then what the next steps and the next run need to know of an answer is noted.
void ActiveMode::choose_forces(Trajectory &run, StepView &now, std::vector<Answer> &answers)
{
  if (answers.empty()) return move_on_without(run, now);
  if (now.whole_asked)
    move_on(run, answers.front());
  else
    move_on_around(run, now, answers);
  now.model_moves = !answers.front().outcome.reference_moves;
  const double after = slot_->has_bars() ? total_energy(*comm_, run) : 0.0;
  jumps_.asked(now.request.energy, after, answers.front().label.energy.value_or(0.0),
               !now.model_moves);
  AnswerState &answer = training_.counters().answer;
  answer.step = answered_step_ = now.step;
  answer.energy = after;
  answer.reference_moved = !now.model_moves;
  training_.active_state() = state_of(decisions_);
  if (now.request.ask == Ask::no) return;
  for (const Answer &answer : answers) log_.line(answer.request, answer.outcome, jumps_.sum());
}

// With the model, which may have learned from the label, unless it is early or still wrong here; else with the reference.
void ActiveMode::move_on(Trajectory &run, Answer &answer)
{
  auto &[request, label, outcome] = answer;
  if (request.ask == Ask::no) return run.follow(label);
  const bool trained = training_.counters().training.trained && slot_->has_bars();
  outcome.reference_moves =
      !trained || ((decisions_.is_early() || options_.follow_reference) && !outcome.is_doubted);
  double error = outcome.max_error;
  const bool learned = outcome.fate == Fate::learned && !training_.is_deferred();
  const bool changed = learning_->take_change() || learned;
  if (trained && changed) {
    run.evaluate_again();
    error = force_errors(run.forces(), label).max;
    if (request.has_bars) keep_scale(run, request.largest_bar(slot_->model()->bars()));
  }
  if (trained && learned) outcome.learned_error = error;
  if (error > decisions_.limit()) outcome.reference_moves = true;
  if (outcome.reference_moves)
    run.follow(label);
  else if (trained && changed)
    run.follow_model();
}

// With the model, which may have learned from cut-outs.
void ActiveMode::move_on_around(Trajectory &run, const StepView &now, std::vector<Answer> &answers)
{
  std::vector<double> force;
  double before = 0.0;
  for (auto &[request, label, outcome] : answers) {
    before = std::max(before, request.largest_bar(slot_->model()->bars()));
    if (outcome.fate != Fate::learned) continue;
    if (force.empty()) {
      run.evaluate_again();
      force = run.forces();
    }
    outcome.learned_error = force_errors(forces_on(request, force), label).max;
    if (outcome.learned_error > decisions_.limit())
      warn_above_limit(now.step, outcome.learned_error);
  }
  if (force.empty()) return;
  keep_scale(run, before);
  run.follow_model();
}

// Without a label. While the run has waited for one, others may have taught the model something.
void ActiveMode::move_on_without(Trajectory &run, StepView &now)
{
  if (now.whole_asked && learning_->take_change()) {
    run.evaluate_again();
    run.follow_model();
  }
  now.model_moves = true;
  jumps_.not_asked();
}

// The distances of a given model come from features that its parameters gave; with every training here they mean less, and grow.
// What was expected at a configuration before is not less true once it has been learned.
void ActiveMode::keep_scale(const Trajectory &run, double before)
{
  // runs that learn together have one scale, to which their labels bring it back
  if (learning_->is_shared() || training_.bar_monitor().given_metric.empty()) return;
  const double now = see(run).bar;
  if (before > 0.0 && std::isfinite(now) && now > before) learning_->rescale(before / now);
}

// ---- recover

// What the model learned stays; where the run goes back, the energy does not jump by what the model says of two places.
void ActiveMode::recover(Trajectory &run, StepView &now)
{
  // a jump may also end at a step without an answer
  training_.counters().answer.energy_jumps = jumps_.sum();
  if (healing_.is_on() && !is_exploring_) {
    SelfHealing::Step step;
    step.answered = answered_step_ == now.step;
    step.model_moves = now.model_moves;
    step.fine = decisions_.is_early() || now.request.expected <= decisions_.threshold() ||
                (step.answered && found_error() <= decisions_.limit());
    if (healing_.finish(run, step)) jumps_.begin();
  }
  log_.progress(book_->num_left(), decisions_);
  latest_ = std::move(now);
}

void ActiveMode::rescue(Trajectory &run, const std::string &why)
{
  if (healing_.rescue(run, why)) return jumps_.begin();
  learning_->save_before_error();
  throw Error(
      fmt::format("step {}: {}; the run cannot go on, and {}. Model, checkpoint and labels are "
                  "saved where 'save' names them. Let the model learn more before it moves the "
                  "atoms ('every', 'accuracy', 'train'), use a "
                  "shorter time step or a lower temperature, or allow more rewinds",
                  run.step(), why, healing_.refusal()));
}

// ---- the beginning of a run

// Several clients work side by side here, which they cannot do where the reference moves the atoms. A run that goes on with those
// that an earlier one has asked for makes no others.
void ActiveMode::prepare(Trajectory &run)
{
  log_.at(run.step(), run.last_step());
  const auto any_open = [this] {
    return book_->any_left([](const LabelRequest &left) { return left.ask == Ask::prepare; });
  };
  if (training_.counters().frames.stored == 0 && book_->num_left() == 0)
    ask_for_copies(run);
  else if (!any_open())
    return;
  while (any_open()) learning_->wait_for_answer();
  const bool had_bars = run.has_bars();
  learn_and_go_on(run, [this] {
    learning_->train_pending();
    return true;
  });
  if (had_bars || !training_.counters().training.trained || !slot_->has_bars()) return;
  run.evaluate_again();
  run.follow_model();
}

// Runs that learn together have copies of their own.
void ActiveMode::ask_for_copies(Trajectory &run)
{
  const WholeFrame start = run.configuration();
  const std::uint64_t seed =
      options_.training.seed.value_or(1) + static_cast<std::uint64_t>(learning_->run_index());
  for (int k = 0; k < options_.prepare.copies; ++k) {
    LabelRequest request;
    request.ask = Ask::prepare;
    request.frame = displaced_copy(start, options_.prepare, k, seed);
    book_->leave(request);
    learning_->take_answers();  // of who computes at once
  }
}

double ActiveMode::distance(const Trajectory &run) const
{
  if (!run.has_bars()) return HUGE_VAL;
  return training_.bar_monitor().distance(total_features(*comm_, run), run.natoms());
}

void ActiveMode::leave_group()
{
  learning_->leave_group();
}

void ActiveMode::stop_above_limit(const StepView &now)
{
  learning_->save_before_error();
  const double unit = options_.units.force();
  throw Error(fmt::format("step {}: an atom has an error bar of {:.4g}, above the limit "
                          "{:.4g} ('limit ... stop'): train longer, or give a larger limit",
                          now.step, now.request.expected * unit, decisions_.limit() * unit));
}

void ActiveMode::warn_above_limit(std::int64_t step, double error)
{
  if (std::exchange(above_limit_warned_, true)) return;
  const double unit = options_.units.force();
  messages_.warning(fmt::format(
      "step {}: after it has learned from a cut-out the model's error there is {:.4g}, above the "
      "limit {:.4g}, and it moves the atoms all the same, as the reference does not know the whole "
      "box: train longer per label ('train'), or stop with 'limit ... stop'",
      step, error * unit, decisions_.limit() * unit));
}

}  // namespace dptrain
