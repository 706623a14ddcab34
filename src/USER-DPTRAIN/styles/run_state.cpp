/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/run_state.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "adapter/lammps_compat.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "fix.h"
#include "force.h"
#include "kspace.h"
#include "lammps.h"
#include "modify.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

// Numbers of an atom that travel between ranks, at most; LAMMPS leaves the same room for what it
// does not count.
std::size_t largest_record(const LAMMPS *lmp)
{
  const Atom &atom = *lmp->atom;
  std::size_t size = 1000 + 2 * atom.bond_per_atom + 4 * atom.angle_per_atom +
                     5 * (atom.dihedral_per_atom + atom.improper_per_atom) + atom.maxspecial +
                     atom.maxspecial15;
  for (const Fix *fix : lmp->modify->get_fix_list()) size += fix->maxexchange;
  return size;
}

// What a fix writes to a restart file, on rank 0, without the size before it. Collective.
std::vector<char> restart_data(LAMMPS *lmp, Fix *fix)
{
  char *text = nullptr;
  std::size_t size = 0;
  FILE *file = lmp->comm->me == 0 ? open_memstream(&text, &size) : nullptr;
  if (lmp->comm->me == 0 && !file)
    lmp->error->one(
        FLERR, "Fix dptrain: no memory for the state of fix {}: use more ranks, or remove rewind",
        fix->id);
  fix->write_restart(file);
  if (!file) return {};
  fclose(file);
  std::vector<char> data(text + std::min(size, sizeof(int)), text + size);
  free(text);
  return data;
}

}  // namespace

bool LAMMPS_NS::has_run_state(const Fix *fix)
{
  return fix->restart_global && !isupper(static_cast<unsigned char>(fix->style[0])) &&
         !utils::strmatch(fix->style, "^ave/") && !utils::strmatch(fix->style, "^dptrain");
}

RunState::RunState(LAMMPS *lmp) : owners_(lmp->atom->nextra_grow)
{
  const Domain *domain = lmp->domain;
  std::copy_n(domain->boxlo, 3, low_);
  std::copy_n(domain->boxhi, 3, high_);
  tilt_[0] = domain->xy, tilt_[1] = domain->xz, tilt_[2] = domain->yz;
  save_atoms(lmp);
  for (Fix *fix : lmp->modify->get_fix_list())
    if (has_run_state(fix)) fixes_.emplace_back(fix->id, restart_data(lmp, fix));
}

void RunState::save_atoms(LAMMPS *lmp)
{
  const std::size_t room = largest_record(lmp);
  std::size_t size = 0;
  for (int i = 0; i < lmp->atom->nlocal; ++i) {
    if (atoms_.size() < size + room) atoms_.resize(2 * size + room);
    size += lmp->atom->avec->pack_exchange(i, &atoms_[size]);
  }
  atoms_.resize(size);
  atoms_.shrink_to_fit();
}

void RunState::restore(LAMMPS *lmp) const
{
  restore_box(lmp);
  restore_atoms(lmp);
  for (const auto &[id, data] : fixes_) restore_fix(lmp, id, data);
}

// Where it does not change in a run there is nothing to do, also for LAMMPS.
void RunState::restore_box(LAMMPS *lmp) const
{
  Domain *domain = lmp->domain;
  if (!domain->box_change) return;
  std::copy_n(low_, 3, domain->boxlo);
  std::copy_n(high_, 3, domain->boxhi);
  domain->xy = tilt_[0], domain->xz = tilt_[1], domain->yz = tilt_[2];
  domain->set_global_box();
  domain->set_local_box();
  if (lmp->force->kspace) lmp->force->kspace->setup();
}

// Each rank has again the atoms that it had: since then they have moved by less than they may
// between two neighbor lists.
void RunState::restore_atoms(LAMMPS *lmp) const
{
  Atom *atom = lmp->atom;
  if (atom->nextra_grow != owners_)
    lmp->error->all(
        FLERR,
        "Fix dptrain: fixes or computes that keep something with the atoms have come or gone since "
        "the state to which the run would go back: use 'run' without 'pre no' after such changes");
  if (atom->map_style != Atom::MAP_NONE) atom->map_clear();  // while it is still of these atoms
  atom->nlocal = atom->nghost = 0;
  std::vector<double> records = atoms_;  // LAMMPS' function takes numbers that it may change
  for (std::size_t place = 0; place < records.size();)
    place += atom->avec->unpack_exchange(&records[place]);
}

void RunState::restore_fix(LAMMPS *lmp, const std::string &id, std::vector<char> data)
{
  Fix *fix = lmp->modify->get_fix_by_id(id);
  int size = static_cast<int>(data.size());
  MPI_Bcast(&size, 1, MPI_INT, 0, lmp->world);
  data.resize(size);
  MPI_Bcast(data.data(), size, MPI_CHAR, 0, lmp->world);
  if (!fix || size == 0) return;
  fix->restart(data.data());
  // Nose-Hoover chains: what accelerates them is not in the data, and is computed as after a
  // restart
  if (utils::strmatch(fix->style, "^n[pv][ht]")) fix->setup(0);
}
