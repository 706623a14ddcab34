// Mode active of fix dptrain: the run goes on with the model, and asks the reference when the uncertainty says so.

#include <algorithm>
#include <cmath>

#include "active_event.h"
#include "atom.h"
#include "comm.h"
#include "error.h"
#include "fix_dptrain_data.h"
#include "force.h"
#include "platform.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

using dptrain::ActiveLearning;
using dptrain::Ask;
using Fate = ActiveEvent::Fate;

void FixDPTrain::start_learning()
{
  Data &d = *data_;
  const FixDPTrainOptions &o = d.options;
  if (d.learning && d.learning_generation == d.session->generation()) return;
  dptrain::ActiveConfig config;
  config.threshold = o.threshold / d.units.force();
  config.limit = o.limit / d.units.force();
  config.audit = o.audit;
  config.seed = o.seed.value_or(1);
  d.learning = std::make_unique<ActiveLearning>(config);
  d.learning_generation = d.session->generation();
  d.jumps.set_sum(d.session->counters.energy_jumps);
  collective(lmp, "Fix dptrain", [&] {
    const auto &state =
        d.session->active_state.empty() ? d.slot->active_state : d.session->active_state;
    if (!state.empty()) {
      d.learning->set_state(state);
      d.session->active_state = d.learning->state();
    }
  });
  look_at_model();
  d.slot->calibration = d.learning->calibration();
}

// What follows from the present parameters and frames: uncertainties, and the error on held-out frames.
void FixDPTrain::look_at_model()
{
  Data &d = *data_;
  collective(lmp, "Fix dptrain", [&] {
    d.session->refresh_uncertainty();
    d.held_out_error = d.session->held_out_errors().rmse_f;
  });
  if (d.session->known_score() > 0.0) d.learning->set_known_score(d.session->known_score());
}

void FixDPTrain::begin_active_run()
{
  Data &d = *data_;
  if (d.run_open) return;  // rerun sets up each of its configurations
  d.run_open = true;
  open_books();
  d.jumps.begin();
  if (comm->me == 0 && !d.options.selects())
    utils::logmesg(
        lmp, "Fix dptrain: largest force errors of an atom, force units; jump of the potential "
             "energy; seconds of reference, training and MD\n"
             "dptrain       step       why  expected      true       rms    learned  moved_by  "
             "frames   calls       jump reference  training        MD\n");
}

// What the summary of a run counts from; `run ... pre no` has no beginning but the end of the run before.
void FixDPTrain::open_books()
{
  Data &d = *data_;
  d.run_start = platform::walltime();
  d.reference_before = d.session->counters.reference_seconds;
  d.train_before = d.session->counters.train_seconds;
  d.first_step = update->ntimestep;
  d.calls_before = d.session->counters.reference_calls;
  d.printed_jumps = d.jumps.sum();
}

// The first step of a run is the last one of the run before: it has been asked about, and is not asked about again.
bool FixDPTrain::continues_from_answer() const
{
  const Data &d = *data_;
  const SessionCounters &counters = d.session->counters;
  if (update->ntimestep != d.first_step || counters.answer_step != d.first_step) return false;
  if (!d.pair->has_scores()) return false;
  double energy = d.pair->last_sums().energy / d.units.energy;
  MPI_Allreduce(MPI_IN_PLACE, &energy, 1, MPI_DOUBLE, MPI_SUM, world);
  // rounding of wrapped positions is far below 1e-9
  return std::fabs(energy - counters.answer_energy) <= 1.0e-9 * std::max(1.0, std::fabs(energy));
}

void FixDPTrain::active_step()
{
  ask_and_learn();
  // a jump may also end at a step without an answer
  data_->session->counters.energy_jumps = data_->jumps.sum();
}

void FixDPTrain::ask_and_learn()
{
  Data &d = *data_;
  const bool due = update->ntimestep % d.options.every == 0;
  d.reference->announce(update->ntimestep + 1);  // any step may ask
  ActiveEvent event;
  event.compared = d.pair->has_scores();
  if (event.compared) {
    event.comparison.score = largest_score();
    event.expected = d.learning->expected_error(event.comparison.score);
  }
  d.expected_error = event.expected;
  if (continues_from_answer()) {
    d.model_moves = !d.session->counters.reference_moved;
    d.jumps.begin(!d.model_moves);
  } else {
    event.ask = event.compared ? d.learning->decide(update->ntimestep, due, event.comparison.score)
                               : (due ? Ask::young : Ask::no);
    d.model_moves = event.compared && !d.learning->is_young();
    if (due) watch_threshold(event);
  }
  if (event.ask == Ask::no && d.model_moves) return d.jumps.not_asked();
  if (event.ask == Ask::limit && d.options.limit_stops) stop_above_limit(event);

  const ReferenceAnswer answer = ask_reference();
  if (!usable(answer)) {
    d.model_moves = true;
    return d.jumps.not_asked();
  }
  const ReferenceLabel &label = answer.label;
  keep_model_forces();
  const double energy_before = d.pair->last_sums().energy;
  if (event.ask == Ask::no) {
    move_by_reference(label);
  } else {
    if (event.compared) measure(label, d.before.data(), event);
    learn(label, event);
    move_on(label, event);
  }
  note_answer(label, energy_before, event);
  if (event.ask != Ask::no) print_event(event);
}

void FixDPTrain::stop_above_limit(const ActiveEvent &event)
{
  Data &d = *data_;
  collective(lmp, "Fix dptrain", [&] { d.session->save(); });
  error->all(FLERR,
             "Fix dptrain: step {}: an atom's force error of {:.4g} is expected, above the limit "
             "{:.4g} ('limit ... stop')",
             update->ntimestep, event.expected * d.units.force(),
             d.learning->limit() * d.units.force());
}

// What the next steps and the next run need to know of an answer.
void FixDPTrain::note_answer(const ReferenceLabel &label, double energy_before,
                             const ActiveEvent &event)
{
  Data &d = *data_;
  const double unit = d.units.energy;
  const bool has_model = d.slot->has_uncertainty();
  double energies[2] = {energy_before / unit, has_model ? d.pair->last_sums().energy / unit : 0.0};
  MPI_Allreduce(MPI_IN_PLACE, energies, 2, MPI_DOUBLE, MPI_SUM, world);
  d.jumps.asked(energies[0], energies[1], label.energy / unit, !d.model_moves);
  if (event.compared && event.ask != Ask::no) d.found_error = event.comparison.max_error;
  SessionCounters &counters = d.session->counters;
  counters.answer_step = update->ntimestep;
  counters.answer_energy = energies[1];
  counters.reference_moved = !d.model_moves;
  d.session->active_state = d.learning->state();
}

double FixDPTrain::largest_score()
{
  const double *scores = data_->pair->scores();
  double largest = 0.0;
  for (int i = 0; i < atom->nlocal; ++i)
    if (!(scores[i] <= largest)) largest = scores[i];  // takes over what is not a number
  if (!std::isfinite(largest)) largest = HUGE_VAL;
  const double distance = data_->slot->model->neighbor_report().below_known;
  double values[2] = {largest, distance > 0.0 ? 1.0 / distance : 0.0};
  MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_DOUBLE, MPI_MAX, world);
  if (values[1] > 0.0) warn_of_close_atoms(1.0 / values[1]);
  return values[0];
}

// Largest and mean errors of forces [nall][3] eV/Angstrom of the model on the labeled atoms, and the size of the label.
void FixDPTrain::measure(const ReferenceLabel &label, const double *model, ActiveEvent &event)
{
  Data &d = *data_;
  const std::size_t nlocal = atom->nlocal;
  const double unit = d.units.force();
  d.change.assign(model, model + d.before.size());
  d.fold = d.change.data();
  comm->reverse_comm(this, 3);
  double sums[3] = {0.0, 0.0, static_cast<double>(nlocal)}, largest = 0.0;
  for (std::size_t i = 0; i < nlocal; ++i) {
    double square = 0.0;
    for (int k = 0; k < 3; ++k) {
      const double f = label.force[3 * i + k] / unit, difference = d.change[3 * i + k] - f;
      square += difference * difference;
      sums[1] += f * f;
    }
    sums[0] += square;
    largest = std::max(largest, std::sqrt(square));
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, world);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, world);
  event.comparison.max_error = largest;
  event.comparison.rms_error = std::sqrt(sums[0] / (3.0 * sums[2]));
  event.label_rms = std::sqrt(sums[1] / (3.0 * sums[2]));
}

// One of `holdout` labels is held out: an early one, or an audit, whatever it has found.
bool FixDPTrain::is_held_out(const ActiveEvent &event) const
{
  const Data &d = *data_;
  const SessionCounters &counters = d.session->counters;
  if (d.options.holdout == 0 || !event.compared ||
      (counters.held_out + 1) * d.options.holdout > counters.frames + 1)
    return false;
  return event.ask == Ask::audit || event.ask == Ask::young;
}

// Of the configuration as a whole from those behind the uncertainty; infinite where there are none like it.
double FixDPTrain::distance() const
{
  const Data &d = *data_;
  if (!d.learning || !d.pair->has_scores()) return HUGE_VAL;
  return d.session->distance(all_features(), atom->natoms);
}

// Sum of the features of all atoms.
std::vector<double> FixDPTrain::all_features() const
{
  std::vector<double> sum = data_->pair->feature_sum();
  MPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(sum.size()), MPI_DOUBLE, MPI_SUM, world);
  return sum;
}

bool FixDPTrain::is_duplicate() const
{
  return data_->options.duplicate > 0.0 && distance() < data_->options.duplicate;
}

void FixDPTrain::learn(const ReferenceLabel &label, ActiveEvent &event)
{
  Data &d = *data_;
  if (stored_already(label)) return;
  const bool held_out = is_held_out(event);
  if (!held_out && event.compared && is_duplicate()) {
    event.fate = Fate::duplicate;
    return;  // a label of the same configuration tells nothing new of the errors
  }
  if (event.compared) d.learning->compare(event.comparison, event.ask, event.label_rms);
  d.slot->calibration = d.learning->calibration();
  d.session->active_state = d.learning->state();
  if (!within_limit(label)) return;
  event.fate = held_out ? Fate::held_out : Fate::learned;
  store(label, held_out);
  if (update->whichflag == 1)
    learn_from_labels();
  else if (event.compared)  // learned from when the minimization has ended
    d.session->remember(all_features(), atom->natoms);
}

// The optimizer steps that the labels have earned, and what follows from them.
void FixDPTrain::learn_from_labels()
{
  Data &d = *data_;
  collective(lmp, "Fix dptrain", [&] { d.session->train(); });
  look_at_model();
}

// The forces with which the run goes on from an answer: those of the model, which may have learned from it, unless it is
// young or still wrong here, or those of the reference.
void FixDPTrain::move_on(const ReferenceLabel &label, ActiveEvent &event)
{
  Data &d = *data_;
  const bool trained = d.session->counters.trained && d.slot->has_uncertainty();
  event.reference_moves = !trained || d.learning->is_young() || d.options.follow_reference;
  if (trained && event.fate == Fate::learned) {
    const PairDPTrain::Sums sums = d.pair->evaluate_again();
    ActiveEvent after;
    measure(label, d.pair->last_forces(), after);
    event.learned_error = after.comparison.max_error;
    keep_scale(event);
    d.learning->learned(event.learned_error);
    if (event.learned_error > d.learning->limit()) event.reference_moves = true;
    if (!event.reference_moves) replace(nullptr, d.pair->last_forces(), sums.energy, sums.virial);
  } else if (event.comparison.max_error > d.learning->limit()) {
    event.reference_moves = true;
  }
  if (event.reference_moves) move_by_reference(label);
  d.model_moves = !event.reference_moves;
}

// The uncertainties of a given model come from features that its parameters gave; with every training here they mean less,
// and grow. What was expected at a configuration before is not less true once it has been learned.
void FixDPTrain::keep_scale(const ActiveEvent &event)
{
  Data &d = *data_;
  if (!d.session->has_given_uncertainty()) return;
  const double now = largest_score();
  if (!event.compared || !(now > event.comparison.score)) return;
  d.learning->rescale(event.comparison.score / now);
  d.slot->calibration = d.learning->calibration();
}

void FixDPTrain::move_by_reference(const ReferenceLabel &label)
{
  replace(label.force, nullptr, comm->me == 0 ? label.energy : 0.0, virial_part(label));
  data_->model_moves = false;
}

void FixDPTrain::min_setup(int vflag)
{
  begin_run();
  min_post_force(vflag);
}

// Labels are collected and learned from when the minimization has ended: its energy must not change on its way.
void FixDPTrain::min_post_force(int vflag)
{
  v_init(vflag);
  if (!data_->options.active || data_->options.selects()) return;
  data_->model_moves = data_->pair->has_scores();
  minimization_step();
  if (data_->guard) add_guard();
}

void FixDPTrain::minimization_step()
{
  Data &d = *data_;
  if (!d.pair->has_scores() || update->ntimestep % d.options.every != 0 ||
      d.session->counters.label_step == update->ntimestep)
    return;
  ActiveEvent event;
  event.compared = true;
  event.comparison.score = largest_score();
  event.expected = d.learning->expected_error(event.comparison.score);
  event.ask = d.learning->decide(update->ntimestep, true, event.comparison.score);
  d.expected_error = event.expected;
  if (event.ask == Ask::no) return;
  if (event.ask == Ask::limit && d.options.limit_stops) stop_above_limit(event);
  const ReferenceAnswer answer = ask_reference();
  if (!usable(answer)) return;
  keep_model_forces();
  measure(answer.label, d.before.data(), event);
  learn(answer.label, event);
  d.found_error = event.comparison.max_error;
  event.reference_moves = false;
  print_event(event);
}
