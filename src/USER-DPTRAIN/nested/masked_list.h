/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <functional>
#include <vector>

#include "neigh_list.h"

namespace LAMMPS_NS {

/// A neighbor list without some pairs of atom types: what the skip lists of LAMMPS' hybrid styles
/// are. Those cannot reach beyond the pair style of the run; this one reaches as far as the list
/// that it is made from.
class MaskedList {
 public:
  explicit MaskedList(LAMMPS *lmp);

  /// Takes from `all` what `acts` allows: [type of i][type of j]. Neighbors keep their special
  /// bits.
  void build(const NeighList &all, const std::vector<std::vector<bool>> &acts, const int *type,
             int nlocal, int nall);
  /// Valid until the next build().
  NeighList *list() { return &list_; }
  double memory_usage() const;

 private:
  NeighList list_;
  std::vector<int> atoms_, counts_;  // ilist, numneigh
  std::vector<int *> first_;         // firstneigh
  std::vector<int> neighbors_;
};

}  // namespace LAMMPS_NS
