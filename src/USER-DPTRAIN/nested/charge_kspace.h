/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "nested/nested_kspace.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Pair;

/// The energy of charges, smeared as Gaussians, on the atoms of this run by a kspace style of
/// LAMMPS: the sum over k of an Ewald summation is that of Gaussians whose width is 1/(sqrt(2) g),
/// g: the splitting parameter. The charges q of the atoms themselves stay as they are, and need not
/// be there.
class ChargeKSpace : protected Pointers {
 public:
  /// `words`: of a kspace_style command, ewald or pppm; sigma: LAMMPS' distance unit. `who` begins
  /// messages.
  ChargeKSpace(LAMMPS *lmp, const std::string &who, const std::string &words, double sigma);
  ~ChargeKSpace() override;

  double sigma() const { return sigma_; }
  const std::string &words() const { return words_; }

  struct Values {
    double energy = 0.0;                           ///< of the whole system, the same on all ranks
    std::array<double, 6> virial{};                ///< ditto, xx yy zz xy xz yz
    std::vector<double> force;                     ///< [nlocal][3]
    std::vector<double> atom_energy, atom_virial;  ///< [nlocal], [nlocal][6], where asked for
  };
  /// LAMMPS units. charge: [nlocal], in units in which LAMMPS' own charges are. Collective.
  const Values &compute(std::vector<double> &charge, bool by_atom);
  double memory_usage() const;

 private:
  const std::string words_;
  const double sigma_;
  std::unique_ptr<Pair> pair_;
  std::unique_ptr<NestedKSpace> kspace_;
  bool set_up_ = false;
  std::vector<double *> rows_;
  Values values_;
};

}  // namespace LAMMPS_NS
