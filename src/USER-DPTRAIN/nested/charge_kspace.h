/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/units.h"
#include "dptrain/frames/charge_solver.h"
#include "nested/nested_kspace.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Pair;

/// The energy of charges, smeared as Gaussians, on the atoms of this run by a kspace style of
/// LAMMPS: the sum over k of an Ewald summation is that of Gaussians whose width is 1/(sqrt(2) g),
/// g: the splitting parameter. The charges q of the atoms themselves stay as they are, and need not
/// be there. A box that is not periodic along z gets the correction for slabs.
class ChargeKSpace : protected Pointers {
 public:
  /// `words`: of a kspace_style command, ewald or pppm; sigma: Angstrom. `who` begins messages.
  ChargeKSpace(LAMMPS *lmp, const std::string &who, const std::string &words, double sigma,
               const dptrain::UnitFactors &units);
  ~ChargeKSpace() override;

  double sigma() const { return sigma_; }  ///< Angstrom
  const std::string &words() const { return words_; }

  /// Of the owned atoms, on all ranks.
  dptrain::ChargeEnergy compute(const std::vector<double> &charge,
                                const dptrain::ChargeRequest &request);
  double memory_usage() const;

 private:
  bool choose_mesh(double squares);
  void add_slab_virial(double volume, dptrain::ChargeEnergy &result) const;

  const std::string words_;
  const double sigma_;
  const dptrain::UnitFactors units_;
  std::unique_ptr<Pair> pair_;
  std::unique_ptr<NestedKSpace> kspace_;
  double squares_ = 0.0;                // sum of the squares of charges at the latest setup
  double spacing_ = 0.0;                // of the mesh, LAMMPS units
  int mesh_[3] = {};                    // points along each edge, at least
  std::vector<double> charge_, force_;  // of the atoms, LAMMPS units
  std::vector<double *> rows_;
};

}  // namespace LAMMPS_NS
