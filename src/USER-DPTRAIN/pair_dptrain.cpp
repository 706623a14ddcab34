#include "pair_dptrain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/evaluator.h"
#include "dptrain/threads.h"
#include "dptrain_adapter.h"
#include "error.h"
#include "evaluation_keywords.h"
#include "force.h"
#include "memory.h"
#include "model_slot.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "restart_data.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

static const char WHO[] = "Pair style dptrain";

struct PairDPTrain::Data {
  std::shared_ptr<const dptrain::Communicator> comm;
  std::shared_ptr<ModelSlot> slot;
  std::unique_ptr<dptrain::Evaluator> evaluator;
  UnitFactors units;
  std::vector<int> type;       // [nall] model types
  std::vector<double> x;       // [nall][3] Angstrom, only where LAMMPS has another length unit
  std::vector<double> force;   // [nall][3] eV/Angstrom
  std::vector<double> energy;  // [nlocal] eV
  std::vector<double> virial;  // [nall][9] eV
  RestartData stored;          // of a restart file, until pair_coeff

  // The evaluator of the model that is in the slot now.
  dptrain::Evaluator &current()
  {
    if (!evaluator || &evaluator->model() != slot->model.get())
      evaluator = std::make_unique<dptrain::Evaluator>(slot->model);
    return *evaluator;
  }
};

PairDPTrain::PairDPTrain(LAMMPS *lmp) : Pair(lmp), data_(new Data)
{
  single_enable = 0;
  restartinfo = 1;
  one_coeff = 1;
  manybody_flag = 1;
  no_virial_fdotr_compute = 1;
  writedata = 0;
  centroidstressflag = CENTROID_AVAIL;
  data_->comm = world_communicator(lmp);
  data_->slot = std::make_shared<ModelSlot>();
  start_threads(lmp, WHO);
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

const std::shared_ptr<ModelSlot> &PairDPTrain::slot() const
{
  return data_->slot;
}

const double *PairDPTrain::last_forces() const
{
  return data_->force.data();
}

// What the library cannot know about a position that is not finite; empty where all are.
static std::string id_of_bad_position(const Atom *atom, int nall)
{
  for (int i = 0; i < nall; ++i)
    for (int k = 0; k < 3; ++k)
      if (!std::isfinite(atom->x[i][k])) return fmt::format(" (atom id {})", atom->tag[i]);
  return "";
}

static dptrain::Domain make_domain(int nlocal, int nall, const double *x, const int *type,
                                   const NeighList &list)
{
  dptrain::Domain domain;
  domain.nlocal = nlocal;
  domain.nall = nall;
  domain.x = x;
  domain.type = type;
  domain.num_centers = list.inum;
  domain.centers = list.ilist;
  domain.num_neighbors = list.numneigh;
  domain.neighbors = list.firstneigh;
  domain.neighbor_mask = NEIGHMASK;
  return domain;
}

void PairDPTrain::compute(int eflag, int vflag)
{
  ev_init(eflag, vflag);
  const int nlocal = atom->nlocal, nall = nlocal + atom->nghost;
  data_->force.assign(static_cast<std::size_t>(nall) * 3, 0.0);
  if (!data_->slot->model || !data_->slot->trained) return check_setup();

  const UnitFactors &units = data_->units;
  const double *x = nall ? atom->x[0] : nullptr;
  if (units.length != 1.0) {
    data_->x.resize(static_cast<std::size_t>(nall) * 3);
    for (std::size_t k = 0; k < data_->x.size(); ++k) data_->x[k] = x[k] / units.length;
    x = data_->x.data();
  }
  data_->type.resize(nall);
  for (int i = 0; i < nall; ++i) data_->type[i] = data_->slot->model_type[atom->type[i]];

  const dptrain::Domain domain = make_domain(nlocal, nall, x, data_->type.data(), *list);
  dptrain::ForwardOutput out;
  out.force = data_->force.data();
  if (eflag_atom) {
    data_->energy.assign(nlocal, 0.0);
    out.atom_energy = data_->energy.data();
  }
  if (vflag_atom || cvflag_atom) {
    data_->virial.assign(static_cast<std::size_t>(nall) * 9, 0.0);
    out.atom_virial = data_->virial.data();
  }
  local(lmp, WHO, [&] {
    try {
      data_->current().step(domain, out);
    } catch (const dptrain::Error &e) {
      throw dptrain::Error(e.what() + id_of_bad_position(atom, nall));
    }
  });

  double *f = nall ? atom->f[0] : nullptr;
  for (std::size_t k = 0; k < data_->force.size(); ++k) f[k] += units.force() * data_->force[k];
  if (eflag_global) eng_vdwl += units.energy * out.energy;
  if (vflag_global) {
    const auto &w = out.virial;
    const double symmetric[6] = {
        w[0], w[4], w[8], 0.5 * (w[1] + w[3]), 0.5 * (w[2] + w[6]), 0.5 * (w[5] + w[7])};
    for (int k = 0; k < 6; ++k) virial[k] += units.energy * symmetric[k];
  }
  add_atom_values(nall);
}

// Per-atom energy and virial into LAMMPS' arrays. The virial of a pair goes to its neighbour, ghosts included: LAMMPS
// folds them back.
void PairDPTrain::add_atom_values(int nall)
{
  const double e = data_->units.energy;
  if (eflag_atom)
    for (int i = 0; i < atom->nlocal; ++i) eatom[i] += e * data_->energy[i];
  if (vflag_atom)
    for (int i = 0; i < nall; ++i) {
      const double *w = &data_->virial[9 * static_cast<std::size_t>(i)];
      vatom[i][0] += e * w[0];
      vatom[i][1] += e * w[4];
      vatom[i][2] += e * w[8];
      vatom[i][3] += 0.5 * e * (w[1] + w[3]);
      vatom[i][4] += 0.5 * e * (w[2] + w[6]);
      vatom[i][5] += 0.5 * e * (w[5] + w[7]);
    }
  if (cvflag_atom) {
    // LAMMPS: xx yy zz xy xz yz yx zx zy with the coordinate first; w: force component first
    static constexpr int ORDER[9] = {0, 4, 8, 3, 6, 7, 1, 2, 5};
    for (int i = 0; i < nall; ++i)
      for (int k = 0; k < 9; ++k)
        cvatom[i][k] += e * data_->virial[9 * static_cast<std::size_t>(i) + ORDER[k]];
  }
}

// Without trained parameters only a fix dptrain can supply forces, and no minimizer can work with them.
void PairDPTrain::check_setup()
{
  const ModelSlot &slot = *data_->slot;
  if (slot.owner.empty())
    error->all(
        FLERR,
        "Pair style dptrain: {} describes a new model, which is not trained yet: define a fix "
        "dptrain with a reference that trains it (without the keyword 'model', which gives a fix "
        "one of its own), or give a trained model in pair_coeff",
        slot.path);
  if (update->whichflag == 2)
    error->all(
        FLERR,
        "Pair style dptrain: the model of {} is not trained yet and cannot be minimized with: run "
        "dynamics with fix {} first",
        slot.path, slot.owner);
}

void PairDPTrain::settings(int narg, char **arg)
{
  if (lmp->suffix_enable)
    error->all(
        FLERR,
        "Pair style dptrain has no accelerated variants: remove the -sf command-line switch or put "
        "'suffix off' before pair_style");
  // the same pair_style command again: by the new slot, a fix that trains the old model notices
  data_->slot = std::make_shared<ModelSlot>();
  ModelSettings &settings = data_->slot->settings;

  for (int iarg = 0; iarg < narg; iarg += 2) {
    const std::string keyword = arg[iarg];
    if (keyword != "precision" && keyword != "knots" && keyword != "chunk")
      error->all(FLERR,
                 "Unknown pair style dptrain keyword {}: allowed are precision, knots, chunk",
                 keyword);
    if (iarg + 1 == narg)
      error->all(FLERR, "Pair style dptrain: keyword {} needs a value", keyword);
    const std::string value = arg[iarg + 1];
    if (keyword == "precision") {
      settings.precision = read_precision(lmp, WHO, value);
    } else if (keyword == "knots") {
      settings.knots = read_knots(lmp, WHO, value);
    } else {
      settings.chunk = read_chunk(lmp, WHO, value);
    }
  }
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
  if (narg < 3 || strcmp(arg[0], "*") != 0 || strcmp(arg[1], "*") != 0)
    error->all(FLERR,
               "Pair style dptrain: expected pair_coeff * * FILE and one element per atom type");
  const std::vector<std::string> elements(arg + 3, arg + narg);
  if (static_cast<int>(elements.size()) != ntypes)
    error->all(
        FLERR,
        "Pair style dptrain: pair_coeff needs one element per atom type: {} types, found {}{}{}",
        ntypes, elements.size(), elements.empty() ? "" : ": ", joined(elements));

  std::string path = utils::get_potential_file_path(arg[2]);
  if (path.empty()) path = arg[2];
  collective(lmp, WHO, [&] { data_->slot->load(*data_->comm, path, elements); });

  int count = 0;
  const std::vector<int> &map = data_->slot->model_type;
  for (int i = 1; i <= ntypes; ++i)
    for (int j = 1; j <= ntypes; ++j) {
      setflag[i][j] = i <= j && map[i] >= 0 && map[j] >= 0;
      count += setflag[i][j];
    }
  if (count == 0) error->all(FLERR, "Pair style dptrain: all elements of pair_coeff are NULL");
  check_stored();
}

void PairDPTrain::init_style()
{
  data_->units = unit_factors(lmp, WHO);
  if (!force->newton_pair)
    error->all(FLERR, "Pair style dptrain needs newton on for pair interactions: remove 'newton "
                      "off' from the input");
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
                          "from the neighbor lists, "
                          "and the model needs all pairs: use 'special_bonds lj/coul 1.0 1.0 1.0' "
                          "or, beside pair styles "
                          "that must skip them, small non-zero factors such as 1.0e-50");
  if (dptrain::runs_on_gpu() && neighbor->nex_type + neighbor->nex_group + neighbor->nex_mol > 0)
    error->all(FLERR, "Pair style dptrain finds neighbors itself on a GPU and cannot leave pairs "
                      "out: remove 'neigh_modify exclude'");
  neighbor->add_request(this, NeighConst::REQ_FULL);
}

double PairDPTrain::init_one(int i, int j)
{
  if (setflag[std::min(i, j)][std::max(i, j)] == 0)
    error->all(FLERR, "All pair coeffs are not set");
  return data_->slot->cutoff * data_->units.length;
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
  const ModelSlot &slot = *data_->slot;
  write_restart_data(fp, {slot.settings, slot.hash(), slot.path, joined(slot.elements)});
}

void PairDPTrain::read_restart_settings(FILE *fp)
{
  RestartData &stored = data_->stored;
  stored = read_restart_data(lmp, WHO, fp);
  data_->slot->settings = stored.settings;
  if (comm->me == 0)
    utils::logmesg(lmp,
                   "  pair style dptrain of the restart file: model {}, elements {}; give it again "
                   "with pair_coeff\n",
                   stored.path, stored.elements);
}

void PairDPTrain::check_stored()
{
  if (data_->stored.path.empty()) return;
  const std::string elements = joined(data_->slot->elements);
  if (comm->me == 0 && elements != data_->stored.elements)
    error->warning(
        FLERR,
        "Pair style dptrain: the restart file was written with elements {}, pair_coeff gives {}",
        data_->stored.elements, elements);
  // 0: there was, or is, no model yet
  if (comm->me == 0 && data_->stored.hash != 0 && data_->slot->model &&
      data_->slot->hash() != data_->stored.hash)
    error->warning(FLERR,
                   "Pair style dptrain: the parameters of {} differ from those in use when the "
                   "restart file was "
                   "written (model {})",
                   data_->slot->path, data_->stored.path);
  data_->stored.path.clear();
}

double PairDPTrain::memory_usage()
{
  double bytes = Pair::memory_usage();
  bytes += static_cast<double>(data_->type.capacity() * sizeof(int));
  bytes += static_cast<double>((data_->x.capacity() + data_->force.capacity() +
                                data_->energy.capacity() + data_->virial.capacity()) *
                               sizeof(double));
  if (data_->slot->model) bytes += static_cast<double>(data_->slot->model->memory_bytes());
  return bytes;
}
