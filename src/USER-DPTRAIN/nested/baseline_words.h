/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>
#include <vector>

#include "dptrain/input/baseline.h"
#include "nested/pair_options.h"

namespace LAMMPS_NS {

class LAMMPS;

/// The words of a force field as a potential keeps them: with variables expanded, the units of this
/// run, and what its atom types are. `elements`: by atom type.
dptrain::Baseline baseline_of(LAMMPS *lmp, const PairOptions &options,
                              const std::vector<std::string> &elements);

/// The charge of each element of this run; none where atoms of an element differ, or nothing has a
/// charge. Collective.
std::map<std::string, double> charges_of(LAMMPS *lmp, const std::vector<std::string> &elements);

/// The same force field for other atom types: coefficients of numbered types go to those of the
/// same element, and lists of elements at the end of coefficients are made anew. Throws
/// dptrain::Error where the words leave open what is meant.
dptrain::Baseline for_elements(const dptrain::Baseline &baseline,
                               const std::vector<std::string> &elements);

/// Its words as fix dptrain has them.
PairOptions options_of(const dptrain::Baseline &baseline);

}  // namespace LAMMPS_NS
