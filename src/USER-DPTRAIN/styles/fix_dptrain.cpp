/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/fix_dptrain.h"

#include <algorithm>
#include <cstring>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "modify.h"
#include "neighbor.h"
#include "nested/baseline_words.h"
#include "nested/nested_pair.h"
#include "reference/separate_atoms.h"
#include "styles/fix_dptrain_data.h"
#include "styles/fix_dptrain_output.h"
#include "styles/trial_moves.h"
#include "timer.h"
#include "universe.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;
using namespace FixConst;

using dptrain::LearningOptions;

FixDPTrain::FixDPTrain(LAMMPS *lmp, int narg, char **arg) : Fix(lmp, narg, arg), data_(new Data)
{
  if (igroup != 0)
    error->all(FLERR, "Fix dptrain labels whole configurations: its group must be all, found {}",
               arg[1]);
  if (domain->dimension != 3) error->all(FLERR, "Fix dptrain needs a simulation in 3 dimensions");
  if (!atom->tag_enable)
    error->all(FLERR, "Fix dptrain needs atom ids: remove 'atom_modify id no' from the input");
  Data &d = *data_;
  d.options = parse_fix_dptrain(lmp, narg, arg);
  d.units = d.options.learning.units;
  d.options.learning.files.frames = fmt::format("dptrain.{}.frames", id);
  d.comm = world_communicator(lmp);
  if (d.options.timeout) dptrain::set_communication_timeout(*d.options.timeout);
  comm_reverse = 3;
  d.fold = [this](double *values) {
    data_->folded = values;
    comm->reverse_comm(this, 3);
  };
  const LearningOptions &learning = d.options.learning;
  const ReferenceUse use{learning.active, learning.cutout.radius > 0.0, learning.explore.steps > 0,
                         d.options.atoms};
  if (!learning.selects)
    d.asked = make_reference(lmp, id, d.options.reference, use, d.fold,
                             [this]() -> const ModelInUse & { return *data_->slot; });
  // words that LAMMPS does not take are refused here, not in a run
  if (d.options.baseline) NestedPair(lmp, "Fix dptrain: baseline", *d.options.baseline, d.fold);

  scalar_flag = vector_flag = 1;
  size_vector = NUM_FIX_OUTPUTS;
  global_freq = 1;
  extscalar = extvector = 0;
  virial_global_flag = thermo_virial = 1;
  restart_global = 1;
  force_reneighbor = d.options.learning.rewind > 0;  // post_integrate says when
  next_reneighbor = -1;
  std::fill(virial, virial + 6, 0.0);  // a compute may read it before the first step
}

FixDPTrain::~FixDPTrain()
{
  if (data_->slot && data_->slot->owner() == id) data_->slot->set_owner("");
}

int FixDPTrain::setmask()
{
  const int rewind = PRE_EXCHANGE | PRE_FORCE;
  return POST_INTEGRATE | POST_NEIGHBOR | POST_FORCE | MIN_POST_FORCE | POST_RUN |
         (data_->options.learning.rewind > 0 ? rewind : 0);
}

void FixDPTrain::init()
{
  Data &d = *data_;
  if (!force->newton_pair)
    error->all(FLERR,
               "Fix dptrain needs newton on for pair interactions: remove 'newton off' from the "
               "input, and with KOKKOS add '-pk kokkos newton on neigh half' to the command line");
  if (utils::strmatch(update->integrate_style, "^respa") && update->whichflag == 1)
    error->all(FLERR, "Fix dptrain does not work with run_style respa: use run_style verlet");
  attach();
  const bool any_periodic = domain->xperiodic || domain->yperiodic || domain->zperiodic;
  if (d.options.learning.explore.steps > 0 && domain->nonperiodic && any_periodic)
    error->all(FLERR,
               "Fix dptrain: explore needs a box that is periodic in all directions, or in none: "
               "remove explore");
  init_trials();
  d.exclusions = std::make_unique<Exclusions>(lmp);
  d.forces = std::make_unique<ForceOverride>(lmp, d.pair, d.units, d.fold);
  d.run = std::make_unique<RunTrajectory>(lmp, d.pair, *d.slot, *d.forces, d.fold,
                                          [this] { use_host_atoms(); });
  if (d.options.learning.rewind > 0) {
    if (!d.rewind)
      d.rewind = std::make_unique<Rewind>(lmp, *d.pair, d.units,
                                          d.options.learning.training.seed.value_or(1));
    d.rewind->init();
    d.run->set_rewind(d.rewind.get());
  }
  const bool begins = !d.session || d.session->generation() != d.slot->generation();
  if (domain->nonperiodic && d.slot->has_charges())
    error->all(FLERR,
               "Fix dptrain: {} has charges, which are learned in boxes that are periodic in all "
               "directions alone: use such a box, with vacuum around what is not",
               d.slot->path());
  if (begins) make_difference();
  init_reference();
  if (begins) start_session();
  check_run();
}

void FixDPTrain::init_reference()
{
  comm_reverse = 3;
  if (!data_->reference()) return;
  use_host_atoms();
  Reference &reference = *data_->reference();
  reference.init();
  comm_forward = reference.comm_forward();
  comm_reverse = std::max(3, reference.comm_reverse());
  const bigint every = data_->options.learning.every;
  reference.announce((update->ntimestep / every + 1) * every);
}

// Fixes that try moves in the middle of a step.
void FixDPTrain::init_trials()
{
  data_->moved = data_->may_try = false;
  for (int k = 0; k < modify->nfix; ++k) {
    const Fix *fix = modify->fix[k];
    if (fix != this && modify->fmask[k] & PRE_EXCHANGE) data_->may_try = true;
    if (utils::strmatch(fix->style, "^sgcmc"))
      error->all(FLERR,
                 "Fix dptrain does not work with fix {} of style sgcmc, which changes types of "
                 "atoms after the forces of a step are known: use fix atom/swap",
                 fix->id);
  }
}

// Whether this is the energy of a move that a fix tries, or may undo: neighbor lists are new, and
// not those of the step.
bool FixDPTrain::is_trial() const
{
  return is_trial_move(lmp) || (data_->may_try && data_->moved && neighbor->ago == 0);
}

// The energy is that of the model, and such a configuration is none of the run.
void FixDPTrain::try_move()
{
  Data &d = *data_;
  if (d.pair && !d.slot->trained())
    error->all(FLERR,
               "Fix dptrain: a fix asks for energies of moves that it tries, and there is no model "
               "yet that could give them ({}): begin with a run without that fix, until the model "
               "is trained, or start from a trained model",
               d.slot->path());
  d.forces->begin(true);
  finish_step();
}

// Labels and frames must be of the same atoms.
void FixDPTrain::check_exclusions()
{
  Data &d = *data_;
  const ReferenceOptions::Source source = d.options.reference.source;
  const bool elsewhere =
      source == ReferenceOptions::Source::socket || source == ReferenceOptions::Source::spool;
  if (!d.exclusions->any() || neighbor->ago != 0) return;
  if (!d.pair && elsewhere && !d.difference) return;
  use_host_atoms();
  const std::string found = d.exclusions->concerned(d.slot->model_type());
  if (found.empty()) return;
  error->all(FLERR,
             "Fix dptrain: '{}' leaves out pairs of atoms, and labels would not be those of the "
             "frames, which have all atoms: remove it ('neigh_modify exclude none'). Atoms that do "
             "not move need no exclusion",
             found);
}

void FixDPTrain::begin_run()
{
  Data &d = *data_;
  d.moved = false;
  use_host_atoms();
  if (d.reference()) d.reference()->setup();
  d.session->begin_run(update->ntimestep);
}

void FixDPTrain::setup(int vflag)
{
  begin_run();
  post_force(vflag);
}

void FixDPTrain::min_setup(int vflag)
{
  begin_run();
  min_post_force(vflag);
}

void FixDPTrain::post_integrate()
{
  Data &d = *data_;
  d.moved = true;
  if (!d.rewind) return;
  const std::string damage = d.rewind->post_integrate();
  if (!damage.empty()) collective(lmp, FIX_STYLE, [&] { d.session->rescue(*d.run, damage); });
  if (d.rewind->is_pending()) next_reneighbor = update->ntimestep;
}

void FixDPTrain::pre_exchange()
{
  data_->rewind->pre_exchange();
}

void FixDPTrain::post_neighbor()
{
  data_->moved = false;
}

void FixDPTrain::pre_force(int)
{
  if (is_trial()) return;
  data_->rewind->pre_force();
  data_->pair->keep_failure(true);
}

// Whether the model could not compute forces from which the run goes on; the run then goes back, or
// ends.
bool FixDPTrain::model_failed()
{
  Data &d = *data_;
  if (!d.rewind) return false;
  d.pair->keep_failure(false);
  try {
    dptrain::guarded(*d.comm, [&] {
      if (!d.pair->failure().empty()) throw dptrain::Error(d.pair->failure());
    });
  } catch (const dptrain::Error &e) {
    const std::string why = e.what();
    collective(lmp, FIX_STYLE, [&] { d.session->rescue(*d.run, why); });
    return true;
  }
  return false;
}

void FixDPTrain::post_force(int vflag)
{
  Data &d = *data_;
  v_init(vflag);
  if (is_trial()) return try_move();
  check_exclusions();
  d.forces->begin();
  if (d.reference()) d.reference()->announce(d.next_request(update->ntimestep));
  if (model_failed()) return finish_step();
  collective(lmp, FIX_STYLE, [&] { d.session->step(*d.run); });
  finish_step();
}

void FixDPTrain::min_post_force(int vflag)
{
  v_init(vflag);
  check_exclusions();
  data_->forces->begin();
  if (data_->reference()) data_->reference()->announce(data_->next_request(update->ntimestep));
  collective(lmp, FIX_STYLE, [&] { data_->session->minimization_step(*data_->run); });
  finish_step();
}

// What has changed the forces has changed the virial too.
void FixDPTrain::finish_step()
{
  if (!vflag_global) return;
  for (int k = 0; k < 6; ++k) virial[k] = data_->forces->virial_change()[k];
}

// Not from a configuration that is none to go on from, nor where time is over.
void FixDPTrain::explore()
{
  Data &d = *data_;
  if (d.options.learning.explore.steps == 0 || update->whichflag != 1) return;
  if (d.rewind && d.rewind->is_pending()) return;
  if (timer->is_timeout()) {
    utils::logmesg(lmp, "Fix dptrain: nothing is explored, as the time of the job is over\n");
    return;
  }
  collective(lmp, FIX_STYLE, [&] { d.session->explore(*d.run); });
}

void FixDPTrain::post_run()
{
  Data &d = *data_;
  explore();
  collective(lmp, FIX_STYLE,
             [&] { d.session->end_run(update->ntimestep, fmt::format("Fix dptrain {}", id)); });
  if (d.options.learning.selects) return;
  if (d.rewind && d.rewind->is_pending() && comm->me == 0)
    error->warning(FLERR,
                   "Fix dptrain: the run has ended at a step from which it would have gone back: "
                   "do not trust its last configuration, and begin the next run before it");
  const dptrain::LearningReport report = d.session->report();
  if (d.options.memory_report && report.steps > 0) print_memory();
  if (comm->me == 0 && !d.slot->model())
    error->warning(FLERR,
                   "Fix dptrain: no model yet: {} of {} warm-up frames; go on from those in "
                   "FILE.frames with 'resume FILE', the name of 'save N FILE'",
                   report.frames, d.options.learning.training.warmup);
}

// A label is of one kind as long as the fix lives.
void FixDPTrain::make_difference()
{
  Data &d = *data_;
  const std::vector<dptrain::Baseline> &baseline = d.slot->baseline();
  if (d.session && d.baseline != baseline)
    error->all(FLERR,
               "Fix dptrain {}: the model that was given again, {}, has another baseline: unfix {} "
               "before, and define it again after, the pair_coeff command",
               id, d.slot->path(), id);
  d.baseline = baseline;
  if (baseline.empty() || d.difference || !d.asked) return;
  const LearningOptions &learning = d.options.learning;
  const bool cuts = learning.cutout.radius > 0.0;
  for (const dptrain::Baseline &one : baseline)
    if (cuts && !one.kspace_style.empty())
      error->all(FLERR,
                 "Fix dptrain: cutout: the baseline {} with {} is one of the whole box: remove "
                 "cutout",
                 one.pair_style, one.kspace_style);
  d.difference = std::make_unique<ReferenceDifference>(lmp, *d.asked, *d.slot, d.fold,
                                                       cuts || learning.prepare.copies > 0);
}

// A session for the model that is in the slot; it goes on from run to run until pair_coeff is given
// again.
void FixDPTrain::start_session()
{
  Data &d = *data_;
  dptrain::Messages messages;
  messages.info = [this](const std::string &text) {
    utils::logmesg(lmp, "Fix dptrain: {}\n", text);
  };
  messages.warning = [this](const std::string &text) {
    error->warning(FLERR, "Fix dptrain: {}", text);
  };
  messages.table = [this](const std::string &text) { utils::logmesg(lmp, text + "\n"); };
  using dptrain::NewCharges;
  NewCharges &charges = d.options.learning.training.charges;
  if (domain->nonperiodic && charges.kind == NewCharges::Kind::search)
    charges.kind = NewCharges::Kind::none;
  collective(lmp, FIX_STYLE, [&] {
    auto session = std::make_unique<dptrain::LearningSession>(d.comm, d.slot, d.options.learning,
                                                              messages, d.source(), replicas());
    check_files(*session);  // before it touches them
    if (d.options.atoms)
      take_separate_atoms(lmp, d.options.reference, *d.asked, session->begins_anew(d.session.get()),
                          *d.slot, d.atoms);
    session->start(d.session.get());
    d.session = std::move(session);
  });
  const std::int64_t steps = d.session->report().steps;
  if (comm->me == 0 && d.restarted[3] > static_cast<double>(steps))
    error->warning(FLERR,
                   "Fix dptrain: the restart file is of {} optimizer steps, the training stands at "
                   "{}: continue it with 'resume FILE.ckpt'",
                   static_cast<bigint>(d.restarted[3]), steps);
}

// The partitions that learn together with this one.
dptrain::Replicas FixDPTrain::replicas() const
{
  dptrain::Replicas replicas;
  if (!data_->options.share) return replicas;
  replicas.mpi_comm = &universe->uworld;
  replicas.index = universe->iworld;
  replicas.first_rank.assign(universe->root_proc, universe->root_proc + universe->nworlds);
  return replicas;
}

// Two fixes may train at the same time, but not into the same files.
void FixDPTrain::check_files(const dptrain::LearningSession &session) const
{
  for (const Fix *other : modify->get_fix_by_style("^dptrain")) {
    const auto *fix = dynamic_cast<const FixDPTrain *>(other);
    if (!fix || fix == this || !fix->data_->session) continue;
    for (const auto &[keyword, path] : session.outputs())
      for (const auto &[other_keyword, other_path] : fix->data_->session->outputs())
        if (path == other_path)
          error->all(FLERR,
                     "Fix dptrain: {} of fix {} and {} of fix {} are the same file {}: each fix "
                     "needs files of its own",
                     other_keyword, other->id, keyword, id, path);
  }
}

// Warns of a run whose forces, pressure or labels are not what they seem.
void FixDPTrain::check_run() const
{
  const Data &d = *data_;
  if (comm->me != 0) return;
  const ReferenceOptions &reference = d.options.reference;
  // `reference run` takes the forces as it finds them
  if (reference.source == ReferenceOptions::Source::run && !d.options.learning.selects)
    for (int k = 0; k < modify->nfix && modify->fix[k] != this; ++k)
      if (modify->fmask[k] & POST_FORCE)
        error->warning(FLERR,
                       "Fix dptrain: forces that fix {} adds become part of the labels: define fix "
                       "{} before it",
                       modify->fix[k]->id, id);
  if (!d.pair) return;
  // what the labels do not have must come from somewhere else in a run with the model
  if (reference.source == ReferenceOptions::Source::values && reference.values.virial.empty())
    error->warning(
        FLERR, "Fix dptrain: 'reference values' without virial: the pressure of steps at which the "
               "reference moves the atoms is that of the model; add virial where the box changes");
}

double FixDPTrain::compute_scalar()
{
  return data_->session ? data_->session->report().batch.loss : 0.0;
}

double FixDPTrain::compute_vector(int n)
{
  if (!data_->session) return 0.0;
  return collective(lmp, FIX_STYLE, [&] {
    return fix_dptrain_output(n, *data_->session, *data_->run, data_->units);
  });
}

// fix_modify ID memory: the table, now.
int FixDPTrain::modify_param(int, char **arg)
{
  if (strcmp(arg[0], "memory") != 0) return 0;
  if (!data_->session)
    error->all(FLERR,
               "Fix dptrain: there is no training yet whose memory could be shown: use fix_modify "
               "{} memory after the first run",
               id);
  print_memory();
  return 1;
}

void FixDPTrain::print_memory()
{
  const std::string table =
      collective(lmp, FIX_STYLE, [&] { return data_->session->memory_table(); });
  if (comm->me == 0) utils::logmesg(lmp, "Fix dptrain {}:\n{}", id, table);
}

double FixDPTrain::memory_usage()
{
  double bytes = data_->forces ? data_->forces->memory_usage() : 0.0;
  if (data_->reference()) bytes += data_->reference()->memory_usage();
  // the pair style counts the model
  if (data_->session) bytes += static_cast<double>(data_->session->memory_bytes());
  return bytes;
}

// A small record: the training itself is in the checkpoint of `save`.
void FixDPTrain::write_restart(FILE *fp)
{
  if (comm->me != 0) return;
  double record[Data::RESTART_SIZE] = {};
  if (data_->session) {
    const dptrain::LearningReport report = data_->session->report();
    record[0] = static_cast<double>(report.frames);
    record[1] = static_cast<double>(report.reference_calls);
    record[2] = static_cast<double>(report.discarded);
    record[3] = static_cast<double>(report.steps);
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
  std::copy(data_->folded + 3 * first, data_->folded + 3 * (first + n), buf);
  return 3 * n;
}

void FixDPTrain::unpack_reverse_comm(int n, int *list, double *buf)
{
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) data_->folded[3 * list[i] + k] += buf[3 * i + k];
}
