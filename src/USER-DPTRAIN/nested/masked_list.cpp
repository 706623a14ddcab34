/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/masked_list.h"

#include "lmptype.h"

using namespace LAMMPS_NS;

MaskedList::MaskedList(LAMMPS *lmp) : list_(lmp)
{
  list_.copymode = 1;  // its arrays belong to this object
}

void MaskedList::build(const NeighList &all, const std::vector<std::vector<bool>> &acts,
                       const int *type, int nlocal, int nall)
{
  const int size = all.inum + (all.ghost ? all.gnum : 0);
  std::size_t total = 0;
  for (int ii = 0; ii < size; ++ii) total += all.numneigh[all.ilist[ii]];
  neighbors_.resize(total);
  atoms_.clear();
  counts_.assign(nall, 0);
  first_.assign(nall, nullptr);
  list_.inum = list_.gnum = 0;

  int *next = neighbors_.data();
  for (int ii = 0; ii < size; ++ii) {
    const int i = all.ilist[ii];
    const std::vector<bool> &wanted = acts[type[i]];
    bool any = false;
    for (const bool want : wanted) any = any || want;
    if (!any) continue;
    atoms_.push_back(i);
    ++(i < nlocal ? list_.inum : list_.gnum);
    first_[i] = next;
    for (int jj = 0; jj < all.numneigh[i]; ++jj) {
      const int j = all.firstneigh[i][jj];
      if (wanted[type[j & NEIGHMASK]]) *next++ = j;
    }
    counts_[i] = static_cast<int>(next - first_[i]);
  }
  list_.id = all.id;
  list_.ghost = all.ghost;
  list_.ilist = atoms_.data();
  list_.numneigh = counts_.data();
  list_.firstneigh = first_.data();
}

double MaskedList::memory_usage() const
{
  return static_cast<double>((atoms_.capacity() + counts_.capacity() + neighbors_.capacity()) *
                                 sizeof(int) +
                             first_.capacity() * sizeof(int *));
}
