/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/guard.h"

#include "atom.h"
#include "comm.h"
#include "dptrain/base/elements.h"
#include "error.h"
#include "lammps.h"
#include "styles/force_override.h"

using namespace LAMMPS_NS;

Guard::Guard(LAMMPS *lmp, double inner, double outer, const std::vector<std::string> &elements,
             FoldGhosts fold) :
    lmp_(lmp)
{
  PairOptions zbl;
  zbl.style = "zbl";
  zbl.args = {fmt::format("{:.17g}", inner), fmt::format("{:.17g}", outer)};
  std::vector<int> numbers;
  for (const std::string &element : elements) {
    numbers.push_back(dptrain::atomic_number(element));
    if (dptrain::element_symbol(numbers.back()).empty())
      lmp->error->all(FLERR, "Fix dptrain: guard needs chemical elements, {} is not one", element);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t j = i; j < numbers.size(); ++j)
      zbl.coeffs.push_back(fmt::format("{} {} {} {}", i + 1, j + 1, numbers[i], numbers[j]));
  pair_ = std::make_unique<NestedPair>(lmp, "guard", zbl, std::move(fold));
}

std::array<double, 6> Guard::add(ForceOverride &forces)
{
  const Atom *atom = lmp_->atom;
  const NestedPair::Values &values = pair_->evaluate();
  for (int i = 0; i < atom->nlocal; ++i)
    for (int k = 0; k < 3; ++k) atom->f[i][k] += values.force[3 * i + k];
  if (lmp_->comm->me != 0) return {};
  forces.add_energy(values.energy);
  return values.virial;
}
