/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/run_survey.h"

#include <algorithm>
#include <cmath>

#include "atom.h"
#include "domain.h"
#include "force.h"
#include "lammps.h"
#include "neigh_list.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

// Of an atom in a step, Angstrom: less than half a bond, and more than any time step that conserves
// energy gives.
constexpr double LONGEST_MOVE = 0.5;

enum { ENERGY, NUM_ATOMS, NOT_FINITE, FAR, OUTSIDE, NUM_SUMS };

bool is_finite(const double *v)
{
  return std::isfinite(v[0] + v[1] + v[2]);
}

// Beyond a wall of the box that neither moves along nor is periodic: there LAMMPS loses the atom.
bool is_outside(const Domain &domain, const double *x)
{
  if (domain.triclinic) return false;
  for (int k = 0; k < 3; ++k)
    if ((domain.boundary[k][0] == 1 && x[k] < domain.boxlo[k]) ||
        (domain.boundary[k][1] == 1 && x[k] > domain.boxhi[k]))
      return true;
  return false;
}

std::string damage_of(const double *sums, bigint natoms, bool box)
{
  const auto text = [](double count, const char *what) {
    return fmt::format("{:.0f} {} {}", count, count == 1.0 ? "atom" : "atoms", what);
  };
  if (sums[NOT_FINITE] > 0.0)
    return text(sums[NOT_FINITE], "with a position or velocity that is not finite");
  if (!box) return "the box is not finite";
  if (sums[NUM_ATOMS] < static_cast<double>(natoms))
    return text(static_cast<double>(natoms) - sums[NUM_ATOMS], "lost");
  if (sums[FAR] > 0.0)
    return text(sums[FAR],
                fmt::format("moved by more than {} Angstrom in a time step", LONGEST_MOVE).c_str());
  return sums[OUTSIDE] > 0.0 ? text(sums[OUTSIDE], "outside the box") : "";
}

}  // namespace

RunSurvey LAMMPS_NS::survey_run(LAMMPS *lmp, const UnitFactors &units, bigint natoms)
{
  const Atom &atom = *lmp->atom;
  const Domain &domain = *lmp->domain;
  const double longest = LONGEST_MOVE * units.length / lmp->update->dt;
  double sums[NUM_SUMS] = {};
  sums[NUM_ATOMS] = atom.nlocal;
  for (int i = 0; i < atom.nlocal; ++i) {
    const double *v = atom.v[i], v2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    if (!is_finite(atom.x[i]) || !is_finite(v)) {
      ++sums[NOT_FINITE];
      continue;
    }
    sums[ENERGY] += v2 * (atom.rmass ? atom.rmass[i] : atom.mass[atom.type[i]]);
    sums[FAR] += v2 > longest * longest;
    sums[OUTSIDE] += is_outside(domain, atom.x[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, NUM_SUMS, MPI_DOUBLE, MPI_SUM, lmp->world);
  const double length = units.length, volume = domain.xprd * domain.yprd * domain.zprd;
  RunSurvey survey;
  survey.damage = damage_of(sums, natoms, std::isfinite(volume));
  survey.condition.kinetic_energy =
      0.5 * lmp->force->mvv2e * sums[ENERGY] / (units.energy * static_cast<double>(natoms));
  // of atoms in open space it has no meaning
  if (domain.nonperiodic == 0) survey.condition.volume = volume / (length * length * length);
  return survey;
}

double LAMMPS_NS::closest_pair(LAMMPS *lmp, const UnitFactors &units, const NeighList &list)
{
  double **x = lmp->atom->x;
  double closest = HUGE_VAL;
  for (int ii = 0; ii < list.inum; ++ii) {
    const int i = list.ilist[ii];
    for (int jj = 0; jj < list.numneigh[i]; ++jj) {
      const double *y = x[list.firstneigh[i][jj] & NEIGHMASK];
      const double d[3] = {x[i][0] - y[0], x[i][1] - y[1], x[i][2] - y[2]};
      closest = std::min(closest, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &closest, 1, MPI_DOUBLE, MPI_MIN, lmp->world);
  return std::isfinite(closest) ? std::sqrt(closest) / units.length : 0.0;
}
