/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "plugin/layout_check.h"

#include "pair.h"

#include <cstddef>
#include <new>
#include <vector>

namespace dptrain {

namespace {

/// A pair style that does nothing.
class Probe : public LAMMPS_NS::Pair {
 public:
  using Pair::Pair;
  void compute(int, int) override {}
  void settings(int, char **) override {}
  void coeff(int, char **) override {}

  /// Members far apart whose first values are not zero, read where the headers say that they are.
  bool has_first_values() const
  {
    return single_enable == 1 && reinitflag == 1 && ncoultablebits == 12 && ndisptablebits == 12 &&
           mixed_flag == 1 && datamask_read == static_cast<decltype(datamask_read)>(~0);
  }
};

}  // namespace

bool pair_layout_fits(LAMMPS_NS::LAMMPS *lmp)
{
  // the constructor of this LAMMPS may write beyond the end that the headers know
  std::vector<std::max_align_t> room(4 * sizeof(Probe) / sizeof(std::max_align_t) + 1);
  auto *probe = new (room.data()) Probe(lmp);
  const bool fits = probe->has_first_values();
  // a destructor that looks for its arrays at other places would free what is none
  if (fits) probe->~Probe();
  return fits;
}

}  // namespace dptrain
