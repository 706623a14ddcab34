#include "session/active_mode.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

using Fate = Outcome::Fate;

namespace {

constexpr double poor_model = 0.25;  // error of held-out frames over their forces
// Steps between two labels of a young model. Each of its steps is a call of the reference, which moves the atoms: labels that are
// further apart would cost more calls, closer ones tell less.
constexpr std::int64_t young_every = 3;

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
                       OnlineTraining &training, ReferenceDesk *desk,
                       const LearningOptions &options, const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    training_(training),
    desk_(desk),
    options_(options),
    messages_(messages),
    learning_(active_config(options)),
    log_(training.counters(), options.units, messages),
    healing_(options.rewind, options.units, messages)
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
  healing_.begin_run();
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
  learn_from_labels();  // those of a minimization
  const UpdateReport &batch = training_.report();
  log_.summary(name, step, learning_, batch.step > 0 ? batch.rmse("f") : 0.0, held_out_error_,
               jumps_.sum());
  warn_of_poor_model();
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
  if (values[1] > 0.0) watch_distance(1.0 / values[1]);
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

void ActiveMode::decide(LabelRequest &request, bool due)
{
  request.ask = request.has_scores ? learning_.decide(step_, due, request.score)
                                   : (due ? Ask::young : Ask::no);
  model_moves_ = request.has_scores && !learning_.is_young();
  if (due) watch_threshold(request.ask);
}

void ActiveMode::step(Trajectory &run)
{
  LabelRequest request = look(run);
  if (continues_from_answer(run)) {
    model_moves_ = !training_.counters().reference_moved;
    jumps_.begin(!model_moves_);
  } else {
    decide(request, is_due(request));
    if (model_moves_ && healing_.look(run) && request.ask == Ask::no) request.ask = Ask::rewind;
  }
  if (request.ask == Ask::no && model_moves_)
    jumps_.not_asked();
  else
    ask(run, request);
  // a jump may also end at a step without an answer
  training_.counters().energy_jumps = jumps_.sum();
  heal(run);
}

// What the model learned stays; where the run goes back, the energy does not jump by what the model says of two places.
void ActiveMode::heal(Trajectory &run)
{
  if (!healing_.is_on()) return;
  SelfHealing::Step now;
  now.answered = training_.counters().answer_step == step_;
  now.model_moves = model_moves_;
  now.fine = learning_.is_young() || expected_error_ <= learning_.threshold() ||
             (now.answered && found_error_ <= learning_.limit());
  if (healing_.finish(run, now)) jumps_.begin();
}

void ActiveMode::rescue(Trajectory &run, const std::string &why)
{
  if (healing_.rescue(run, why)) return jumps_.begin();
  training_.save();
  throw Error(formatted("step %lld: ", static_cast<long long>(run.step())) + why +
              "; the run cannot go on, and " + healing_.refusal() +
              ". Model, checkpoint and labels are saved where 'save' names them. Let the model "
              "learn more before it moves the "
              "atoms ('every', 'threshold', 'train'), keep atoms apart ('guard'), use a shorter "
              "time step or a lower temperature, or allow more rewinds");
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
    model_moves_ = true;
    return jumps_.not_asked();
  }
  if (request.ask == Ask::no) {
    run.follow(*label);
    model_moves_ = false;
    return note_answer(run, request, *label);
  }
  Outcome outcome = judge(request, *label);
  if (outcome.stored()) learn_from_labels();
  move_on(run, request, *label, outcome);
  note_answer(run, request, *label);
  log_.line(request, outcome, jumps_.sum());
}

void ActiveMode::minimization_step(Trajectory &run)
{
  model_moves_ = run.has_scores();
  if (!run.has_scores() || run.step() % options_.every != 0 ||
      training_.counters().label_step == run.step())
    return;
  LabelRequest request = look(run);
  request.ask = learning_.decide(step_, true, request.score);
  if (request.ask == Ask::no) return;
  const std::optional<Label> label = answer_to(run, request);
  if (!label) return;
  Outcome outcome = judge(request, *label);
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
    if (request.ask != Ask::young)
      healing_.compare(request.frame.step, request.expected, errors.max, learning_.limit());
    if (healing_.is_wild(errors.label_rms, learning_.force())) return outcome;
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

// The optimizer steps that the labels have earned, and what follows from them.
void ActiveMode::learn_from_labels()
{
  training_.train();
  refresh_scores();
}

// The forces with which the run goes on from an answer: those of the model, which may have learned from it, unless it is
// young or still wrong here, or those of the reference.
void ActiveMode::move_on(Trajectory &run, const LabelRequest &request, const Label &label,
                         Outcome &outcome)
{
  const bool trained = training_.counters().trained && slot_->has_uncertainty();
  outcome.reference_moves = !trained || learning_.is_young() || options_.follow_reference;
  if (trained && outcome.fate == Fate::learned) {
    run.evaluate_again();
    outcome.learned_error = force_errors(run.forces(), label).max;
    keep_scale(run, request);
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
void ActiveMode::keep_scale(const Trajectory &run, const LabelRequest &request)
{
  if (training_.uncertainty().given_whitening.empty()) return;
  const double now = largest_score(run);
  if (!request.has_scores || !(now > request.score)) return;
  learning_.rescale(request.score / now);
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

// ---- messages

// Not where the threshold follows the errors.
void ActiveMode::watch_threshold(Ask ask)
{
  if (options_.threshold == 0.0 || ask == Ask::young) return;
  const double unit = options_.units.force(), reached = learning_.reached_error();
  const bool asked = ask == Ask::threshold || ask == Ask::limit;
  if (!threshold_watch_.add(asked, learning_.threshold(), reached)) return;
  messages_.warning(formatted("step %lld: threshold %.4g is below the error that the model reaches "
                              "(%.4g): ",
                              static_cast<long long>(step_), options_.threshold * unit,
                              reached * unit) +
                    "the reference is asked at every check. Raise the threshold (or use 'threshold "
                    "auto'), train longer ('train'), or use a larger model");
}

void ActiveMode::watch_distance(double distance)
{
  if (close_atoms_warned_) return;
  close_atoms_warned_ = true;
  messages_.warning(formatted("step %lld: atoms are %.4g apart, ", static_cast<long long>(step_),
                              distance * options_.units.length) +
                    "closer than in the frames from which the model was made: its tables are "
                    "extended, which takes time, and its forces are guesses there. The keyword "
                    "'guard' keeps atoms apart while the model is young");
}

void ActiveMode::warn_of_poor_model() const
{
  if (learning_.is_growing() || !(held_out_error_ > poor_model * learning_.force())) return;
  messages_.warning(
      formatted("on held-out frames the model's force error is %.0f %% of the forces: ",
                100.0 * held_out_error_ / learning_.force()) +
      "what moves the atoms is a poor potential. Train longer per label ('train', 'ema') or use a "
      "larger model; more labels alone do not help where the error of the last batch is as large");
}

void ActiveMode::stop_above_limit(const LabelRequest &request)
{
  training_.save();
  const double unit = options_.units.force();
  throw Error(
      formatted("step %lld: an atom's force error of %.4g is expected, above the limit %.4g "
                "('limit ... stop')",
                static_cast<long long>(step_), request.expected * unit, learning_.limit() * unit));
}

}  // namespace dptrain
