/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/pair_dptrain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/kernels/threads.h"
#include "error.h"
#include "force.h"
#include "memory.h"
#include "modify.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "styles/fix_dptrain.h"
#include "styles/pair_dptrain_data.h"
#include "styles/pair_dptrain_options.h"
#include "styles/trial_moves.h"
#include "styles/whole_frame_step.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

PairDPTrain::PairDPTrain(LAMMPS *lmp) : Pair(lmp), data_(new Data(lmp))
{
  single_enable = 0;
  restartinfo = 1;
  one_coeff = 1;
  manybody_flag = 1;
  no_virial_fdotr_compute = 1;
  writedata = 0;
  centroidstressflag = CENTROID_AVAIL;
  comm_reverse = comm_reverse_off = ATOM_VIRIAL;
  data_->slot = std::make_shared<ModelInUse>();
}

PairDPTrain::~PairDPTrain()
{
  if (copymode) return;
  delete data_;
  if (allocated) {
    memory->destroy(setflag);
    memory->destroy(cutsq);
  }
}

const std::shared_ptr<ModelInUse> &PairDPTrain::slot() const
{
  return data_->slot;
}

PairDPTrain *PairDPTrain::find(LAMMPS *lmp)
{
  Pair *found = nullptr;
  for (const char *name : {"dptrain", "dptrain/kk", "dptrain/kk/device", "dptrain/kk/host"}) {
    Pair *pair = lmp->force->pair_match(name, 1);
    // with a suffix LAMMPS finds dptrain/kk by the name of dptrain, too
    if (pair && found && pair != found) return nullptr;
    if (pair) found = pair;
  }
  return dynamic_cast<PairDPTrain *>(found);
}

const double *PairDPTrain::last_forces()
{
  return host_result(FORCE);
}

const PairDPTrain::Sums &PairDPTrain::last_sums() const
{
  return data_->sums;
}

void PairDPTrain::keep_failure(bool keep)
{
  data_->keeps_failure = keep;
}

const std::string &PairDPTrain::failure() const
{
  return data_->failure;
}

// What the library cannot know about a position that is not finite; empty where all are.
static std::string id_of_bad_position(const Atom *atom, int nall)
{
  for (int i = 0; i < nall; ++i)
    for (int k = 0; k < 3; ++k)
      if (!std::isfinite(atom->x[i][k])) return fmt::format(" (atom id {})", atom->tag[i]);
  return "";
}

dptrain::Domain PairDPTrain::Data::domain(const Atom &atom, const NeighList *list)
{
  const int nall = atom.nlocal + atom.nghost;
  dptrain::Domain domain;
  domain.nlocal = atom.nlocal;
  domain.nall = nall;
  domain.x = nall ? atom.x[0] : nullptr;
  if (units.length != 1.0) {
    x.assign(domain.x, domain.x + static_cast<std::size_t>(nall) * 3);
    for (double &component : x) component /= units.length;
    domain.x = x.data();
  }
  type.resize(nall);
  for (int i = 0; i < nall; ++i) type[i] = exclusions.model_type_of(i);
  domain.type = type.data();
  if (list) {
    domain.num_centers = list->inum;
    domain.centers = list->ilist;
    domain.num_neighbors = list->numneigh;
    domain.neighbors = list->firstneigh;
  } else {
    centers.resize(atom.nlocal);
    std::iota(centers.begin(), centers.end(), 0);
    domain.num_centers = atom.nlocal;
    domain.centers = centers.data();
  }
  domain.neighbor_mask = NEIGHMASK;
  return domain;
}

void PairDPTrain::Data::add_whole_frame(LAMMPS *lmp, dptrain::Domain &domain)
{
  domain.whole = dptrain::WholeCell{box_edges(lmp, units), lmp->domain->nonperiodic == 0,
                                    slot->settings().total, comm.get()};
  const Atom &atom = *lmp->atom;
  domain.first_type = first_type;
  const bool passes_messages = slot->model() && !slot->model()->is_local();
  if ((passes_messages || committee.passes_messages()) && comm->size() == 1) {
    set_owners(atom);
    domain.owner = owner.data();
  }
}

void PairDPTrain::Data::find_first_type(const Atom &atom)
{
  std::int64_t lowest = std::numeric_limits<int>::max();
  for (int i = 0; i < atom.nlocal; ++i)
    if (const int mapped = slot->model_type()[atom.type[i]]; mapped >= 0)
      lowest = std::min<std::int64_t>(lowest, mapped);
  lowest = -lowest;
  comm->all_reduce_max(&lowest, 1);
  first_type = lowest == -std::numeric_limits<int>::max() ? 0 : static_cast<int>(-lowest);
}

// On one rank every ghost is an image of an owned atom.
void PairDPTrain::Data::set_owners(const Atom &atom)
{
  std::unordered_map<tagint, int> owned;
  for (int i = 0; i < atom.nlocal; ++i) owned[atom.tag[i]] = i;
  owner.resize(atom.nlocal + atom.nghost);
  for (std::size_t k = 0; k < owner.size(); ++k) owner[k] = owned.at(atom.tag[k]);
}

void PairDPTrain::compute(int eflag, int vflag)
{
  ev_init(eflag, vflag);
  compute_model();
  add_baseline(eflag, vflag);
}

void PairDPTrain::compute_model()
{
  data_->committee.forget();
  data_->failure.clear();
  data_->found.has_bars = data_->found.bars = data_->found.atom_energy = data_->found.atom_virial =
      data_->found.charges = false;
  data_->exclusions.look(data_->slot->model_type());
  if (!data_->slot->model() || !data_->slot->trained()) {
    clear_result(FORCE, 3 * static_cast<std::size_t>(atom->nlocal + atom->nghost));
    return check_setup();
  }
  const Sums sums = evaluate();
  add_forces(force->newton_pair ? atom->nlocal + atom->nghost : atom->nlocal);
  if (eflag_global) eng_vdwl += sums.energy;
  if (vflag_global)
    for (int k = 0; k < 6; ++k) virial[k] += sums.virial[k];
  add_atom_values(1.0);
  watch();
  const bigint every = data_->deviation_options.every;
  if (every > 0 && update->ntimestep % every == 0 && !is_trial_move(lmp)) write_deviation();
}

PairDPTrain::Sums PairDPTrain::evaluate_again()
{
  add_atom_values(-1.0);
  const Sums sums = evaluate();
  add_atom_values(1.0);
  return sums;
}

// The model on the present atoms: forces and, where they are asked for, error bars and values of
// each atom.
PairDPTrain::Sums PairDPTrain::evaluate()
{
  const std::size_t nlocal = atom->nlocal, nall = nlocal + atom->nghost;
  const UnitFactors &units = data_->units;
  dptrain::ForwardOutput out;
  // a fix that trains the model asks for energies at any step
  out.sums =
      eflag_either || vflag_either || !data_->slot->owner().empty() || !data_->committee.empty();
  out.force = clear_result(FORCE, 3 * nall);
  data_->found.atom_energy = eflag_atom;
  data_->found.atom_virial = vflag_atom || cvflag_atom;
  data_->found.has_bars = data_->slot->has_bars();
  data_->found.bars = needs_bars();
  data_->found.step = update->ntimestep;
  data_->found.nlocal = atom->nlocal;
  data_->found.nghost = atom->nghost;
  if (data_->found.atom_energy) out.atom_energy = clear_result(ENERGY, nlocal);
  if (data_->found.atom_virial) out.atom_virial = clear_result(VIRIAL, 9 * nall);
  if (data_->found.bars) {
    const dptrain::Model &model = *data_->slot->model();
    if (data_->found.known_version != model.bars_version()) data_->found.known = model.bars();
    data_->found.known_version = model.bars_version();
    data_->features.assign(model.type_map().size() * model.features()->number(), 0.0);
    out.bar = clear_result(BAR, nlocal);
    out.feature_sum = data_->features.data();
  }
  const dptrain::Domain domain = atoms();
  const std::optional<dptrain::Charges> charges = data_->slot->model()->charges();
  data_->found.charges = charges.has_value();
  dptrain::Domain own = domain;
  if (charges) {
    out.charge = clear_result(CHARGE, nlocal);
    if (ChargeKSpace *mesh = data_->mesh(lmp, *charges)) {
      host_atoms();
      // the same on all ranks: those without atoms have no arrays that could ask
      own.whole->solver = [this, mesh](const auto &charge, dptrain::ChargeRequest request) {
        request.potential = request.potential || data_->found.atom_energy;
        request.virials = data_->found.atom_virial;
        return mesh->compute(charge, request);
      };
    }
  }
  data_->step(lmp, own, out);
  if (!data_->failure.empty()) {
    clear_result(FORCE, 3 * nall);
    if (data_->found.atom_energy) clear_result(ENERGY, nlocal);
    if (data_->found.atom_virial) clear_result(VIRIAL, 9 * nall);
    if (charges) clear_result(CHARGE, nlocal);
    out.energy = 0.0;
    out.virial = {};
  }
  if (!data_->committee.empty()) data_->committee.show(domain, host_result(FORCE), out.virial);
  if (!force->newton_pair) {
    fold(out.force, 3);
    if (out.atom_virial) fold(out.atom_virial, 9);
  }
  const auto &w = out.virial;
  Sums &sums = data_->sums;
  sums = {units.energy * out.energy,
          {w[0], w[4], w[8], 0.5 * (w[1] + w[3]), 0.5 * (w[2] + w[6]), 0.5 * (w[5] + w[7])}};
  for (double &component : sums.virial) component *= units.energy;
  return sums;
}

// --- the arrays of plain LAMMPS

dptrain::Domain PairDPTrain::atoms()
{
  dptrain::Domain domain = data_->domain(*atom, list);
  data_->add_whole_frame(lmp, domain);
  return domain;
}

// On a GPU, to which the lists of the host would have to travel.
bool PairDPTrain::searches_neighbors() const
{
  return dptrain::runs_on_gpu();
}

// Models of LibTorch do not search, and in a hybrid style the list says which atoms are centers.
bool PairDPTrain::reads_lists() const
{
  return !searches_neighbors() || force->pair != this || !data_->slot->descriptor() ||
         !data_->committee.empty();
}

double *PairDPTrain::clear_result(Result result, std::size_t n)
{
  data_->results[result].assign(n, 0.0);
  return data_->results[result].data();
}

const double *PairDPTrain::host_result(Result result)
{
  return data_->results[result].data();
}

void PairDPTrain::add_forces(int n)
{
  double *f = n ? atom->f[0] : nullptr;
  const std::vector<double> &values = data_->results[FORCE];
  for (std::size_t k = 0; k < 3 * static_cast<std::size_t>(n); ++k)
    f[k] += data_->units.force() * values[k];
}

// The virial of a pair goes to its neighbor, ghosts included: LAMMPS folds them back.
void PairDPTrain::add_atom_values(double sign)
{
  const double e = sign * data_->units.energy;
  const int n = force->newton_pair ? atom->nlocal + atom->nghost : atom->nlocal;
  if (data_->found.atom_energy) {
    const double *energies = host_result(ENERGY);
    for (int i = 0; i < atom->nlocal; ++i) eatom[i] += e * energies[i];
  }
  if (!data_->found.atom_virial) return;
  const double *virials = host_result(VIRIAL);
  // LAMMPS: xx yy zz xy xz yz yx zx zy with the coordinate first; w: force component first
  static constexpr int ORDER[9] = {0, 4, 8, 3, 6, 7, 1, 2, 5};
  for (int i = 0; i < n; ++i) {
    const double *w = virials + 9 * static_cast<std::size_t>(i);
    if (vflag_atom) {
      for (int k = 0; k < 3; ++k) vatom[i][k] += e * w[4 * k];
      vatom[i][3] += 0.5 * e * (w[1] + w[3]);
      vatom[i][4] += 0.5 * e * (w[2] + w[6]);
      vatom[i][5] += 0.5 * e * (w[5] + w[7]);
    }
    if (cvflag_atom)
      for (int k = 0; k < 9; ++k) cvatom[i][k] += e * w[ORDER[k]];
  }
}

// What ghosts had is their owners' then. Collective.
void PairDPTrain::fold(double *values, int width)
{
  data_->fold.values = values;
  data_->fold.width = width;
  comm->reverse_comm(this, width);
}

int PairDPTrain::pack_reverse_comm(int n, int first, double *buf)
{
  const std::size_t width = data_->fold.width;
  const double *begin = data_->fold.values + width * first;
  std::copy(begin, begin + width * n, buf);
  return static_cast<int>(width) * n;
}

void PairDPTrain::unpack_reverse_comm(int n, int *list, double *buf)
{
  const std::size_t width = data_->fold.width;
  for (int i = 0; i < n; ++i)
    for (std::size_t k = 0; k < width; ++k)
      data_->fold.values[width * list[i] + k] += buf[width * i + k];
}

void PairDPTrain::Data::step(LAMMPS *lmp, const dptrain::Domain &domain,
                             dptrain::ForwardOutput &out)
{
  if (!slot->model()->is_local() && comm->size() > 1) {
    collective(lmp, PAIR_STYLE,
               [&] { whole_frame_step(lmp, *comm, *slot, exclusions, units, current(), out); });
    return;
  }
  local(lmp, PAIR_STYLE, [&] {
    try {
      current().step(domain, out);
    } catch (const dptrain::Error &e) {
      const bool on_gpu = domain.in_kernel_memory && dptrain::runs_on_gpu();
      const std::string what =
          e.what() + (on_gpu ? std::string() : id_of_bad_position(lmp->atom, domain.nall));
      if (!keeps_failure) throw dptrain::Error(what);
      failure = what;
    }
  });
}

// Without trained parameters only a fix dptrain can supply forces, and no minimizer can work with
// them.
void PairDPTrain::check_setup()
{
  const ModelInUse &slot = *data_->slot;
  if (slot.owner().empty())
    error->all(FLERR,
               "Pair style dptrain: {} describes a new model, which is not trained yet: define a "
               "fix dptrain with a reference that trains it (without the keyword 'model', which "
               "gives a fix one of its own), or give a trained model in pair_coeff",
               slot.path());
  if (update->whichflag == 2)
    error->all(FLERR,
               "Pair style dptrain: the model of {} is not trained yet and cannot be minimized "
               "with: run dynamics with fix {} first",
               slot.path(), slot.owner());
}

void PairDPTrain::settings(int narg, char **arg)
{
  const PairDPTrainOptions options = parse_pair_dptrain(lmp, narg, arg);
  start_kernels(lmp, PAIR_STYLE, options.device);
  // the same pair_style command again: by the new slot, a fix that trains the old model notices
  data_->slot = std::make_shared<ModelInUse>(options.settings);
  data_->deviation_options = options.deviation;
  data_->watch.options = options.watch;
  data_->kspace = options.kspace;
  data_->kspace_of_charges.reset();
  data_->committee = dptrain::Committee();
  data_->output.close();
  if (allocated) memset(&setflag[0][0], 0, sizeof(int) * (atom->ntypes + 1) * (atom->ntypes + 1));
}

void PairDPTrain::allocate()
{
  const int n = atom->ntypes + 1;
  memory->create(setflag, n, n, "pair:setflag");
  memory->create(cutsq, n, n, "pair:cutsq");
  allocated = 1;
}

void PairDPTrain::coeff(int narg, char **arg)
{
  if (!allocated) allocate();
  const int ntypes = atom->ntypes;
  if (narg < 3) utils::missing_cmd_args(FLERR, "pair_coeff * * FILE El1 El2 ...", error);
  if (strcmp(arg[0], "*") != 0 || strcmp(arg[1], "*") != 0)
    error->all(FLERR,
               "Pair style dptrain: expected pair_coeff * * FILE and one element per atom type");
  const std::vector<std::string> elements(arg + 3, arg + narg);
  if (static_cast<int>(elements.size()) != ntypes)
    error->all(
        FLERR,
        "Pair style dptrain: pair_coeff needs one element per atom type: {} types, found {}{}{}",
        ntypes, elements.size(), elements.empty() ? "" : ": ", utils::join_words(elements, " "));

  const std::string path = find_model(lmp, PAIR_STYLE, arg[2]);
  collective(lmp, PAIR_STYLE, [&] { data_->slot->load(*data_->comm, path, elements); });
  tell_of_model(lmp, PAIR_STYLE, *data_->slot);
  load_committee();

  int count = 0;
  const std::vector<int> &map = data_->slot->model_type();
  for (int i = 1; i <= ntypes; ++i)
    for (int j = 1; j <= ntypes; ++j) {
      setflag[i][j] = i <= j && map[i] >= 0 && map[j] >= 0;
      count += setflag[i][j];
    }
  if (count == 0)
    error->all(FLERR, "Pair style dptrain: all elements of pair_coeff are NULL: name at least one");
  check_stored();
}

void PairDPTrain::init_style()
{
  data_->units = unit_factors(lmp, PAIR_STYLE);
  if (update->whichflag == 1 && utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR,
               "Pair style dptrain does not work with run_style respa: use run_style verlet");
  if (!atom->tag_enable)
    error->all(FLERR,
               "Pair style dptrain needs atom ids: remove 'atom_modify id no' from the input");
  if (atom->molecular != Atom::ATOMIC && atom->nbonds > 0)
    for (int k = 1; k <= 3; ++k)
      if (force->special_lj[k] == 0.0 && force->special_coul[k] == 0.0)
        error->all(FLERR, "Pair style dptrain: special_bonds factors of zero remove bonded pairs "
                          "from the neighbor lists, and the model needs all pairs: use "
                          "'special_bonds lj/coul 1.0 1.0 1.0' or, beside pair styles that must "
                          "skip them, small non-zero factors such as 1.0e-50");
  if (reads_lists())
    neighbor->add_request(this, NeighConst::REQ_FULL);
  else
    list = nullptr;
  data_->begins_run = true;
  data_->kspace_of_charges.reset();  // the box may be another one
  data_->find_first_type(*atom);
  const ModelInUse &slot = *data_->slot;
  if (data_->deviation_options.every > 0 && data_->committee.empty()) {
    data_->slot->want_bars();
    if (!may_learn() && !slot.has_calibrated_bars())
      error->all(
          FLERR,
          "Pair style dptrain: {} needs a committee (committee FILE2 [FILE3 ...] end), or a "
          "model with error bars, such as fix dptrain in 'mode active' trains it: {} has none",
          data_->deviation_options.path, slot.path());
  }
  data_->watch.begin_run(slot);
  if (data_->deviation_options.every > 0)
    collective(lmp, PAIR_STYLE,
               [&] { data_->output.open(data_->deviation_options, data_->restarted); });
}

double PairDPTrain::model_cutoff() const
{
  return std::max(data_->slot->cutoff(), data_->committee.cutoff()) * data_->units.length;
}

bool PairDPTrain::may_learn() const
{
  return !data_->slot->owner().empty() || !modify->get_fix_by_style("^dptrain").empty();
}

// What a new model will be like the fix that trains it knows.
void PairDPTrain::complete_model()
{
  for (Fix *fix : modify->get_fix_by_style("^dptrain"))
    if (auto *learning = dynamic_cast<FixDPTrain *>(fix))
      if (learning->trains_pair_style()) learning->complete_model(*data_->slot);
}

double PairDPTrain::init_one(int i, int j)
{
  if (setflag[std::min(i, j)][std::max(i, j)] == 0)
    error->all(FLERR, "All pair coeffs are not set: give elements instead of NULL in pair_coeff, "
                      "or use hybrid styles");
  if (std::exchange(data_->begins_run, false)) {
    complete_model();
    check_total();
    init_baseline();
  }
  return std::max(model_cutoff(), data_->baseline ? data_->baseline->cutoff(i, j) : 0.0);
}

void PairDPTrain::write_restart(FILE *fp)
{
  write_restart_settings(fp);
}

void PairDPTrain::read_restart(FILE *fp)
{
  allocate();
  memset(&setflag[0][0], 0, sizeof(int) * (atom->ntypes + 1) * (atom->ntypes + 1));
  read_restart_settings(fp);
}

void PairDPTrain::write_restart_settings(FILE *fp)
{
  const ModelInUse &slot = *data_->slot;
  write_restart_data(fp, {slot.settings(), slot.hash(), slot.path(),
                          utils::join_words(slot.elements(), " "), data_->deviation_options,
                          data_->watch.options, data_->kspace});
}

void PairDPTrain::read_restart_settings(FILE *fp)
{
  RestartData &stored = data_->stored;
  stored = read_restart_data(lmp, PAIR_STYLE, fp);
  start_kernels(lmp, PAIR_STYLE);
  data_->slot = std::make_shared<ModelInUse>(stored.settings);
  data_->deviation_options = stored.deviation;
  data_->watch.options = stored.watch;
  data_->kspace = stored.kspace;
  data_->restarted = true;
  if (comm->me == 0)
    utils::logmesg(lmp,
                   "  pair style dptrain of the restart file: model {}, elements {}; give it again "
                   "with pair_coeff\n",
                   stored.path, stored.elements);
}

void PairDPTrain::check_stored()
{
  if (data_->stored.path.empty()) return;
  const std::string elements = utils::join_words(data_->slot->elements(), " ");
  if (comm->me == 0 && elements != data_->stored.elements)
    error->warning(FLERR,
                   "Pair style dptrain: the restart file was written with elements {}, pair_coeff "
                   "gives {}: check pair_coeff",
                   data_->stored.elements, elements);
  // 0: there was, or is, no model yet
  if (comm->me == 0 && data_->stored.hash != 0 && data_->slot->model() &&
      data_->slot->hash() != data_->stored.hash)
    error->warning(FLERR,
                   "Pair style dptrain: the parameters of {} differ from those in use when the "
                   "restart file was written (model {}): check pair_coeff",
                   data_->slot->path(), data_->stored.path);
  data_->stored.path.clear();
}

double PairDPTrain::memory_usage()
{
  double bytes = Pair::memory_usage();
  bytes += static_cast<double>(data_->type.capacity() * sizeof(int));
  for (const std::vector<double> &result : data_->results)
    bytes += static_cast<double>(result.capacity() * sizeof(double));
  bytes += static_cast<double>(data_->x.capacity() * sizeof(double));
  if (data_->slot->model()) bytes += static_cast<double>(data_->slot->model()->memory_bytes());
  if (data_->baseline) bytes += data_->baseline->memory_usage();
  if (data_->kspace_of_charges) bytes += data_->kspace_of_charges->memory_usage();
  return bytes + data_->committee.memory_bytes();
}
