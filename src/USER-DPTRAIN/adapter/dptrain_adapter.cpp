/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "adapter/dptrain_adapter.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/kernels/threads.h"
#include "force.h"
#include "lammps.h"
#include "platform.h"
#include "universe.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

// Boltzmann's constant in eV/K as LAMMPS has it for `units metal`: ratios of force->boltz are then
// LAMMPS' own conversions
constexpr double BOLTZMANN_METAL = 8.617343e-5;
constexpr int ATOM = 5;  // doubles of an atom: tag, type, x, y, z

/// The model of this name that was installed with the package: in the folder `potentials` beside
/// this library or program, or where LAMMPS installs its potentials. Empty without one.
std::string installed_model(const std::string &file)
{
  namespace fs = std::filesystem;
  Dl_info library;
  if (!dladdr(reinterpret_cast<void *>(&installed_model), &library) || !library.dli_fname)
    return "";
  std::error_code none;
  fs::path self = fs::canonical(library.dli_fname, none);
  if (none) self = fs::canonical("/proc/self/exe", none);  // a program goes by its first word
  for (const char *folder : {"potentials", "../share/lammps/potentials"}) {
    const std::string path = (self.parent_path() / folder / file).string();
    if (platform::file_is_readable(path)) return path;
  }
  return "";
}

using Vector = std::array<double, 3>;

Vector cross(const Vector &a, const Vector &b)
{
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double dot(const Vector &a, const Vector &b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Type (0: hidden) and position of the owned atoms, as they are folded into the periodic box.
std::vector<double> owned_atoms(LAMMPS *lmp, int hidden_groups)
{
  const Atom *atom = lmp->atom;
  std::vector<double> values(static_cast<std::size_t>(atom->nlocal) * ATOM);
  for (int i = 0; i < atom->nlocal; ++i) {
    double x[3] = {atom->x[i][0], atom->x[i][1], atom->x[i][2]};
    lmp->domain->remap(x);
    double *v = &values[static_cast<std::size_t>(i) * ATOM];
    v[0] = static_cast<double>(atom->tag[i]);
    v[1] = atom->mask[i] & hidden_groups ? 0 : atom->type[i];
    for (int k = 0; k < 3; ++k) v[2 + k] = x[k] - lmp->domain->boxlo[k];
  }
  return values;
}

// Records of all atoms on all ranks.
std::vector<double> all_records(LAMMPS *lmp, std::vector<double> owned)
{
  const int nprocs = lmp->comm->nprocs;
  int count = static_cast<int>(owned.size());
  std::vector<int> counts(nprocs), offsets(nprocs, 0);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, lmp->world);
  for (int p = 1; p < nprocs; ++p) offsets[p] = offsets[p - 1] + counts[p - 1];
  std::vector<double> all(static_cast<std::size_t>(offsets.back()) + counts.back());
  MPI_Allgatherv(owned.data(), count, MPI_DOUBLE, all.data(), counts.data(), offsets.data(),
                 MPI_DOUBLE, lmp->world);
  return all;
}

// Stretches the edges of non-periodic dimensions so that no image comes within `cutoff` of an atom,
// and moves the atoms to the start of the stretched cell.
void open_dimensions(const int *periodicity, double cutoff, std::array<double, 9> &box,
                     std::vector<double> &coord)
{
  const auto edge_of = [&](int k) { return Vector{box[3 * k], box[3 * k + 1], box[3 * k + 2]}; };
  const std::array<Vector, 3> edges{edge_of(0), edge_of(1), edge_of(2)};
  for (int k = 0; k < 3; ++k) {
    if (periodicity[k]) continue;
    const Vector normal = cross(edges[(k + 1) % 3], edges[(k + 2) % 3]);
    const double volume = dot(edges[k], normal);
    double low = 0.0, high = 0.0;
    for (std::size_t i = 0; i < coord.size(); i += 3) {
      const double s = dot({coord[i], coord[i + 1], coord[i + 2]}, normal) / volume;
      low = i == 0 ? s : std::min(low, s);
      high = i == 0 ? s : std::max(high, s);
    }
    const double height = std::fabs(volume) / std::sqrt(dot(normal, normal));
    const double stretch = high - low + 1.1 * cutoff / height;
    for (int d = 0; d < 3; ++d) {
      box[3 * k + d] = edges[k][d] * stretch;
      for (std::size_t i = d; i < coord.size(); i += 3) coord[i] -= low * edges[k][d];
    }
  }
}

void wait(int milliseconds)
{
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

UnitFactors LAMMPS_NS::unit_factors(LAMMPS *lmp, const std::string &who)
{
  if (strcmp(lmp->update->unit_style, "lj") == 0)
    lmp->error->all(FLERR,
                    fmt::format("{} has no meaning in units lj, which have no eV and no Angstrom: "
                                "use units metal, real, si, cgs, electron, micro or nano",
                                who));
  UnitFactors factors;
  factors.energy = lmp->force->boltz / BOLTZMANN_METAL;
  factors.length = lmp->force->angstrom;
  return factors;
}

void LAMMPS_NS::with_text_before_abort(const std::function<void()> &work)
{
  try {
    work();
  } catch (const LAMMPSAbortException &) {
    wait(100);
    throw;
  }
}

void LAMMPS_NS::stop_all_ranks(LAMMPS *lmp, const std::string &message)
{
  wait(std::min(200 * lmp->comm->me, 1000));
  with_text_before_abort([&] { lmp->error->one(FLERR, message); });
  std::abort();  // error->one does not return
}

std::shared_ptr<const dptrain::Communicator> LAMMPS_NS::world_communicator(LAMMPS *lmp)
{
  // one for all who ask while it lives: each costs memory that ranks share, and takes all of them
  // to make
  static std::map<LAMMPS *, std::weak_ptr<const dptrain::Communicator>> known;
  if (auto found = known[lmp].lock()) return found;
  auto made = dptrain::make_mpi_communicator(&lmp->world);
  known[lmp] = made;
  return made;
}

void LAMMPS_NS::start_kernels(LAMMPS *lmp, const std::string &who,
                              const dptrain::DeviceRequest &device)
{
  const auto comm = world_communicator(lmp);
  const dptrain::DeviceReport devices = collective(lmp, who, [&] {
    return dptrain::bind_devices(*comm, device, dptrain::rank_on_node(&lmp->world));
  });
  if (dptrain::runs_on_gpu() && lmp->comm->me == 0) {
    utils::logmesg(lmp, "{}: {}\n", who, devices.text);
    for (const std::string &warning : devices.warnings)
      lmp->error->warning(FLERR, "{}: {}", who, warning);
  }
  const int partitions = (lmp->universe->nprocs + lmp->comm->nprocs - 1) / lmp->comm->nprocs;
  const int share = dptrain::thread_share(&lmp->world, partitions);
  int threads = local(lmp, who, [&] { return dptrain::use_threads(share); });
  int most = 0;
  MPI_Allreduce(&threads, &most, 1, MPI_INT, MPI_MAX, lmp->world);
  if (most > 1 && lmp->comm->me == 0)
    utils::logmesg(lmp, "{}: {} threads per MPI rank\n", who, most);
}

std::vector<double> LAMMPS_NS::gather_by_tag(LAMMPS *lmp, const double *values, int width)
{
  const Atom *atom = lmp->atom;
  const std::size_t record = width + 1;
  std::vector<double> owned(static_cast<std::size_t>(atom->nlocal) * record);
  for (int i = 0; i < atom->nlocal; ++i) {
    double *r = &owned[i * record];
    r[0] = static_cast<double>(atom->tag[i]);
    std::copy_n(values + static_cast<std::size_t>(i) * width, width, r + 1);
  }
  const std::vector<double> records = all_records(lmp, std::move(owned));
  const std::size_t natoms = records.size() / record;
  if (static_cast<bigint>(natoms) != atom->natoms)
    lmp->error->all(FLERR,
                    "Lost atoms: {} expected, {} there: what is left is no configuration to learn "
                    "from; check the time step and the start configuration, or add rewind",
                    atom->natoms, natoms);
  std::vector<std::size_t> order(natoms);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return records[a * record] < records[b * record];
  });
  std::vector<double> sorted;
  sorted.reserve(natoms * width);
  for (const std::size_t i : order)
    sorted.insert(sorted.end(), &records[i * record + 1], &records[i * record + 1] + width);
  return sorted;
}

std::array<double, 9> LAMMPS_NS::box_edges(LAMMPS *lmp, const UnitFactors &units)
{
  const Domain &box = *lmp->domain;
  std::array<double, 9> edges{box.xprd, 0.0, 0.0, 0.0, box.yprd, 0.0, 0.0, 0.0, box.zprd};
  if (box.triclinic) {
    edges[3] = box.xy;
    edges[6] = box.xz;
    edges[7] = box.yz;
  }
  for (double &component : edges) component /= units.length;
  return edges;
}

dptrain::WholeFrame LAMMPS_NS::gather_atoms(LAMMPS *lmp, const std::vector<int> &model_type,
                                            double cutoff, const UnitFactors &units,
                                            std::vector<tagint> *tags, int hidden_groups)
{
  const std::vector<double> atoms =
      gather_by_tag(lmp, owned_atoms(lmp, hidden_groups).data(), ATOM);
  dptrain::WholeFrame frame;
  frame.step = lmp->update->ntimestep;
  frame.coord.reserve(atoms.size() / ATOM * 3);
  if (tags) tags->clear();
  for (std::size_t i = 0; i < atoms.size(); i += ATOM) {
    const double *r = &atoms[i];
    if (tags) tags->push_back(static_cast<tagint>(r[0]));
    const int type = static_cast<int>(r[1]);
    frame.type.push_back(type > 0 ? model_type[type] : -1);
    for (int k = 0; k < 3; ++k) frame.coord.push_back(r[2 + k] / units.length);
  }

  const Domain *domain = lmp->domain;
  frame.box = box_edges(lmp, units);
  frame.periodic = domain->xperiodic || domain->yperiodic || domain->zperiodic;
  if (frame.periodic) open_dimensions(domain->periodicity, cutoff, frame.box, frame.coord);
  return frame;
}

std::string LAMMPS_NS::cutoff_by_atoms(LAMMPS *lmp, const std::string &who, ModelInUse &slot)
{
  constexpr bigint most_atoms = 1000000;  // every rank holds them
  dptrain::WholeFrame frame;
  const bool looks = lmp->atom->natoms <= most_atoms;
  if (looks) frame = gather_atoms(lmp, slot.model_type(), slot.cutoff(), unit_factors(lmp, who));
  const std::string text = collective(lmp, who, [&] { return slot.choose_cutoff(frame); });
  if (looks) return text;
  return fmt::format(
      "cutoff {:g} Angstrom: it is not chosen by the structure of more than {} atoms; "
      "rcut in an input.json gives another",
      slot.input()->model.rcut, most_atoms);
}

void LAMMPS_NS::tell_of_model(LAMMPS *lmp, const std::string &who, const ModelInUse &slot)
{
  if (lmp->comm->me != 0) return;
  if (!slot.note().empty()) utils::logmesg(lmp, "{}: {}\n", who, slot.note());
  if (!slot.warning().empty()) lmp->error->warning(FLERR, "{}: {}", who, slot.warning());
}

std::string LAMMPS_NS::find_model(LAMMPS *lmp, const std::string &who, const std::string &file)
{
  if (file == dptrain::new_model_name) return file;
  std::string path = utils::get_potential_file_path(file);
  if (path.empty() && !platform::file_is_readable(file + ".dp")) path = installed_model(file);
  // rank 0 alone reads it
  int found = !path.empty() || platform::file_is_readable(file + ".dp") ? 1 : 0;
  MPI_Bcast(&found, 1, MPI_INT, 0, lmp->world);
  if (found == 0)
    lmp->error->all(FLERR,
                    "{}: cannot open file '{}', which must be in the current folder, in those of "
                    "LAMMPS_POTENTIALS or among the models that come with the package",
                    who, file);
  return path.empty() ? file : path;
}
