/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/exclusions.h"

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "error.h"
#include "group.h"
#include "neighbor.h"

using namespace LAMMPS_NS;

static constexpr int ALL = 0;  // the number of the group of all atoms

bool Exclusions::any() const
{
  return neighbor->nex_type + neighbor->nex_group + neighbor->nex_mol > 0;
}

void Exclusions::look(const std::vector<int> &model_type)
{
  hidden_groups_ = 0;
  model_type_ = model_type;
  if (!any()) return;
  find_hidden(model_type);
  if (neighbor->ago != 0) return;
  std::vector<Pairs> left_out;
  for (const Pairs &pairs : excluded())
    if (!pairs.hides) left_out.push_back(pairs);
  const std::string found = first_with_atoms(left_out);
  if (!found.empty())
    error->all(FLERR,
               "{}: '{}' leaves out some pairs of an atom, and the energy of this potential is one "
               "of all neighbors of an atom: remove it ('neigh_modify exclude none'). Atoms that "
               "do not move need no exclusion; atoms that shall not be there at all: 'neigh_modify "
               "exclude group ID all'",
               PAIR_STYLE, found);
}

int Exclusions::model_type_of(int i) const
{
  return atom->mask[i] & hidden_groups_ ? -1 : model_type_[atom->type[i]];
}

std::string Exclusions::concerned(const std::vector<int> &model_type)
{
  hidden_groups_ = 0;
  model_type_ = model_type;
  return first_with_atoms(excluded());
}

void Exclusions::find_hidden(const std::vector<int> &model_type)
{
  for (int m = 0; m < neighbor->nex_group; ++m) {
    if (neighbor->ex2_group[m] == ALL) hidden_groups_ |= neighbor->ex1_bit[m];
    if (neighbor->ex1_group[m] == ALL) hidden_groups_ |= neighbor->ex2_bit[m];
  }
  const int ntypes = atom->ntypes;
  std::string hidden;
  for (int t = 1; t <= ntypes && neighbor->nex_type > 0; ++t) {
    bool all = model_type[t] >= 0;
    for (int u = 1; u <= ntypes && all; ++u) {
      bool is_excluded = model_type[u] < 0;
      for (int m = 0; m < neighbor->nex_type; ++m) {
        const int a = neighbor->ex1_type[m], b = neighbor->ex2_type[m];
        is_excluded = is_excluded || (a == t && b == u) || (a == u && b == t);
      }
      all = is_excluded;
    }
    if (!all) continue;
    model_type_[t] = -1;
    hidden += fmt::format(" {}", t);
  }
  if (hidden.empty() || warned_) return;
  warned_ = true;
  if (comm->me == 0)
    error->warning(
        FLERR,
        "{}: 'neigh_modify exclude type' excludes atoms of type{} from all others: they have no "
        "energy and no force, as if they were not there; remove it if this is not meant",
        PAIR_STYLE, hidden);
}

std::vector<Exclusions::Pairs> Exclusions::excluded() const
{
  std::vector<Pairs> all;
  for (int m = 0; m < neighbor->nex_type; ++m) {
    const int a = neighbor->ex1_type[m], b = neighbor->ex2_type[m];
    all.push_back({fmt::format("neigh_modify exclude type {} {}", a, b), {0, 0}, {a, b}, false});
  }
  for (int m = 0; m < neighbor->nex_group; ++m) {
    const int a = neighbor->ex1_group[m], b = neighbor->ex2_group[m];
    all.push_back(
        {fmt::format("neigh_modify exclude group {} {}", group->names[a], group->names[b]),
         {neighbor->ex1_bit[m], neighbor->ex2_bit[m]},
         {0, 0},
         a == ALL || b == ALL});
  }
  for (int m = 0; m < neighbor->nex_mol; ++m) {
    const int bit = neighbor->ex_mol_bit[m];
    all.push_back({fmt::format("neigh_modify exclude molecule/{} {}",
                               neighbor->ex_mol_intra[m] ? "intra" : "inter",
                               group->names[neighbor->ex_mol_group[m]]),
                   {bit, bit},
                   {0, 0},
                   false});
  }
  return all;
}

bool Exclusions::is_on(const Pairs &pairs, int side, int i) const
{
  const int bit = pairs.groups[side];
  return bit != 0 ? (atom->mask[i] & bit) != 0 : atom->type[i] == pairs.types[side];
}

// The first with two atoms that the model sees.
std::string Exclusions::first_with_atoms(const std::vector<Pairs> &list) const
{
  if (list.empty()) return "";
  std::vector<double> counts(3 * list.size(), 0.0);  // on both sides, and on both at once
  for (std::size_t k = 0; k < list.size(); ++k)
    for (int i = 0; i < atom->nlocal; ++i) {
      if (model_type_of(i) < 0) continue;
      const bool a = is_on(list[k], 0, i), b = is_on(list[k], 1, i);
      counts[3 * k] += a;
      counts[3 * k + 1] += b;
      counts[3 * k + 2] += a && b;
    }
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_DOUBLE, MPI_SUM,
                world);
  for (std::size_t k = 0; k < list.size(); ++k)
    if (counts[3 * k] * counts[3 * k + 1] > counts[3 * k + 2]) return list[k].command;
  return "";
}
