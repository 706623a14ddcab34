#include "fix_dptrain.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/frames/whole_frame.h"
#include "error.h"
#include "fix_dptrain_data.h"
#include "force.h"
#include "platform.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;
using namespace FixConst;

FixDPTrain::FixDPTrain(LAMMPS *lmp, int narg, char **arg) : Fix(lmp, narg, arg), data_(new Data)
{
  if (igroup != 0)
    error->all(FLERR, "Fix dptrain labels whole configurations: its group must be all, found {}",
               arg[1]);
  if (domain->dimension != 3) error->all(FLERR, "Fix dptrain needs a simulation in 3 dimensions");
  if (!atom->tag_enable)
    error->all(FLERR, "Fix dptrain needs atom ids: remove 'atom_modify id no' from the input");
  data_->options = parse_fix_dptrain(lmp, narg, arg);
  data_->comm = world_communicator(lmp);
  if (data_->options.timeout) dptrain::set_communication_timeout(*data_->options.timeout);
  make_reference();

  scalar_flag = vector_flag = 1;
  size_vector = NUM_OUTPUTS;
  global_freq = 1;
  extscalar = extvector = 0;
  virial_global_flag = thermo_virial = 1;
  restart_global = 1;
  std::fill(virial, virial + 6, 0.0);  // a compute may read it before the first step
}

FixDPTrain::~FixDPTrain()
{
  if (data_->slot && data_->slot->owner == id) data_->slot->owner.clear();
  delete data_;
}

int FixDPTrain::setmask()
{
  return POST_FORCE | MIN_POST_FORCE | POST_RUN;
}

void FixDPTrain::init()
{
  data_->units = unit_factors(lmp, "Fix dptrain");
  if (!force->newton_pair)
    error->all(
        FLERR,
        "Fix dptrain needs newton on for pair interactions: remove 'newton off' from the input");
  if (utils::strmatch(update->integrate_style, "^respa") && update->whichflag == 1)
    error->all(FLERR, "Fix dptrain does not work with run_style respa: use run_style verlet");
  attach();
  start_session();
  if (data_->options.active) start_learning();
  check_order();
  check_parts();

  comm_reverse = 3;
  if (!data_->reference) return;
  make_guard();
  if (data_->guard) data_->guard->init();
  data_->reference->init();
  comm_forward = data_->reference->comm_forward();
  comm_reverse = std::max(3, data_->reference->comm_reverse());
  const bigint every = data_->options.every;
  data_->reference->announce((update->ntimestep / every + 1) * every);
}

void FixDPTrain::setup(int vflag)
{
  begin_run();
  post_force(vflag);
}

void FixDPTrain::begin_run()
{
  if (data_->reference) data_->reference->setup();
  if (data_->guard) data_->guard->setup();
  if (data_->options.active) begin_active_run();
}

void FixDPTrain::post_force(int vflag)
{
  v_init(vflag);
  if (data_->options.selects())
    select_step();
  else if (data_->options.active)
    active_step();
  else
    passive_step();
  if (data_->guard) add_guard();
}

// Labels every N steps; the reference moves the atoms until the first training has ended.
void FixDPTrain::passive_step()
{
  const bool due = update->ntimestep % data_->options.every == 0;
  const bool drives = data_->pair && !data_->session->counters.trained;
  if (!due && !drives) return;

  const ReferenceAnswer answer = ask_reference();
  if (!usable(answer)) return;
  if (due && within_limit(answer.label) && !stored_already(answer.label)) {
    store(answer.label, false);
    collective(lmp, "Fix dptrain", [&] { data_->session->train(); });
  }
  if (drives || (data_->pair && data_->options.follow_reference)) follow(answer.label);
}

ReferenceAnswer FixDPTrain::ask_reference()
{
  const double start = platform::walltime();
  data_->reference->request();
  data_->reference->announce((update->ntimestep / data_->options.every + 1) * data_->options.every);
  ReferenceAnswer answer = data_->reference->poll();
  ++data_->session->counters.reference_calls;
  data_->session->counters.reference_seconds += platform::walltime() - start;
  return answer;
}

// Answers without numbers are left out; the run goes on with the model, if there is one.
bool FixDPTrain::usable(const ReferenceAnswer &answer)
{
  SessionCounters &counters = data_->session->counters;
  if (answer.status == ReferenceAnswer::Status::pending) return false;
  std::string why = answer.failure;
  if (answer.status == ReferenceAnswer::Status::label) {
    const ReferenceLabel &label = answer.label;
    double sum = label.energy;  // a number that is not finite spoils the sum
    for (std::size_t k = 0; k < static_cast<std::size_t>(atom->nlocal) * 3; ++k)
      sum += label.force[k];
    for (const double component : label.virial) sum += component;
    int finite = std::isfinite(sum);
    MPI_Allreduce(MPI_IN_PLACE, &finite, 1, MPI_INT, MPI_MIN, world);
    if (finite) return true;
    why = "energy, forces or virial are not finite";
  }
  ++counters.discarded;
  if (data_->pair && !counters.trained)
    error->all(FLERR,
               "Fix dptrain: no label at step {}: {}; the model is not trained yet, and the run "
               "cannot go on without "
               "the reference",
               update->ntimestep, why);
  if (comm->me == 0)
    error->warning(FLERR, "Fix dptrain: label of step {} is discarded: {}", update->ntimestep, why);
  return false;
}

// A label with larger forces than fmax is not learned from, but may still drive the run.
bool FixDPTrain::within_limit(const ReferenceLabel &label)
{
  const double limit = data_->options.force_limit;
  if (limit == 0.0) return true;
  double largest = 0.0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(atom->nlocal) * 3; ++k)
    largest = std::max(largest, std::fabs(label.force[k]));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, world);
  if (largest <= limit) return true;
  ++data_->session->counters.discarded;
  if (comm->me == 0)
    error->warning(FLERR,
                   "Fix dptrain: label of step {} is discarded: the largest force component {:.6g} "
                   "is above fmax {:.6g}",
                   update->ntimestep, largest, limit);
  return false;
}

// The first step of a run is the last one of the run before; rounding of wrapped positions is far below 1e-9.
bool FixDPTrain::stored_already(const ReferenceLabel &label)
{
  const SessionCounters &counters = data_->session->counters;
  return counters.label_step == update->ntimestep &&
         std::fabs(label.energy / data_->units.energy - counters.label_energy) <=
             1.0e-9 * std::max(1.0, std::fabs(counters.label_energy));
}

void FixDPTrain::store(const ReferenceLabel &label, bool held_out)
{
  const UnitFactors &units = data_->units;
  dptrain::WholeFrame frame =
      gather_atoms(lmp, data_->slot->model_type, label.force, data_->slot->cutoff, units);
  frame.label.energy = label.energy / units.energy;
  const auto &w = label.virial;
  std::array<double, 9> virial = {w[0], w[3], w[4], w[3], w[1], w[5], w[4], w[5], w[2]};
  for (double &component : virial) component /= units.energy;
  if (label.has_virial) frame.label.virial = virial;
  frame.held_out = held_out;
  collective(lmp, "Fix dptrain", [&] { data_->session->add(frame); });
}

// The reference takes the place of what the model has added to forces, pressure and energy.
void FixDPTrain::follow(const ReferenceLabel &label)
{
  keep_model_forces();
  replace(label.force, nullptr, comm->me == 0 ? label.energy : 0.0, virial_part(label));
}

// What the model has added to the forces of this step, for replace().
void FixDPTrain::keep_model_forces()
{
  const double *model = data_->pair->last_forces();
  data_->before.assign(model, model + static_cast<std::size_t>(atom->nlocal + atom->nghost) * 3);
}

// Changes the energy of this rank in thermo output.
void FixDPTrain::add_energy(double change)
{
  if (update->eflag_global != update->ntimestep) return;
  data_->pair->eng_vdwl += change;
  if (force->pair != data_->pair) force->pair->eng_vdwl += change;  // hybrid/overlay
}

// This rank's part of a label's virial; that of the model stays where the label has none.
const double *FixDPTrain::virial_part(const ReferenceLabel &label) const
{
  static const double none[6] = {};
  if (!label.has_virial) return data_->pair->virial;
  return comm->me == 0 ? label.virial.data() : none;
}

// Puts other forces, energy and virial in the place of what the model has added (Data::before), whatever else acts on the
// atoms: `owned` [nlocal][3] in LAMMPS units, or those of the model [nall][3] in eV/Angstrom. Energy and virial are this
// rank's part; without virial the model's stays. The pressure is a contribution of this fix; for the energy LAMMPS would take
// the fix's scalar, which is the loss, so the sums of the pair style are corrected.
void FixDPTrain::replace(const double *owned, const double *model, double energy,
                         const double *new_virial)
{
  const std::size_t nlocal = atom->nlocal;
  const double unit = data_->units.force();
  data_->change.resize(data_->before.size());
  for (std::size_t k = 0; k < data_->change.size(); ++k)
    data_->change[k] = unit * ((model ? model[k] : 0.0) - data_->before[k]);
  data_->fold = data_->change.data();
  comm->reverse_comm(this, 3);
  for (std::size_t i = 0; i < nlocal; ++i)
    for (int k = 0; k < 3; ++k)
      atom->f[i][k] += (owned ? owned[3 * i + k] : 0.0) + data_->change[3 * i + k];
  if (vflag_global)
    for (int k = 0; k < 6; ++k) virial[k] = new_virial[k] - data_->pair->virial[k];
  add_energy(energy - data_->pair->eng_vdwl);
}

void FixDPTrain::post_run()
{
  data_->run_open = false;
  if (data_->options.selects()) return print_selection();
  if (data_->options.active) {
    learn_from_labels();  // those of a minimization
    print_summary();
    open_books();
  }
  collective(lmp, "Fix dptrain", [&] { data_->session->save(); });
  if (data_->options.memory_report && data_->session->steps() > 0) print_memory();
  if (comm->me == 0 && !data_->slot->model)
    error->warning(
        FLERR,
        "Fix dptrain: no model yet: {} of {} warm-up frames; 'resume FILE' with the name "
        "of 'save N FILE' continues with those in FILE.frames",
        data_->session->counters.frames, data_->options.warmup);
}

// A small record: the training itself is in the checkpoint of `save`.
void FixDPTrain::write_restart(FILE *fp)
{
  if (comm->me != 0) return;
  double record[Data::RESTART_SIZE] = {};
  if (data_->session) {
    const SessionCounters &counters = data_->session->counters;
    record[0] = static_cast<double>(counters.frames);
    record[1] = static_cast<double>(counters.reference_calls);
    record[2] = static_cast<double>(counters.discarded);
    record[3] = static_cast<double>(data_->session->steps());
  }
  const int size = sizeof(record);
  fwrite(&size, sizeof(int), 1, fp);
  fwrite(record, sizeof(double), Data::RESTART_SIZE, fp);
}

void FixDPTrain::restart(char *buffer)
{
  memcpy(data_->restarted, buffer, sizeof(data_->restarted));
}

int FixDPTrain::pack_reverse_comm(int n, int first, double *buf)
{
  std::copy(data_->fold + 3 * first, data_->fold + 3 * (first + n), buf);
  return 3 * n;
}

void FixDPTrain::unpack_reverse_comm(int n, int *list, double *buf)
{
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) data_->fold[3 * list[i] + k] += buf[3 * i + k];
}
