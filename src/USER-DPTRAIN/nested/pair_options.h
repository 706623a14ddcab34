/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>
#include <vector>

namespace LAMMPS_NS {

class FixArguments;

/// A second force field: what `pair STYLE [args] coeff "..." [coeff "..."] [modify "..."] [kspace
/// "..." [kspace_modify "..."]] end` says.
struct PairOptions {
  std::string style;
  std::vector<std::string> args;           ///< of its pair_style command
  std::vector<std::string> coeffs;         ///< of its pair_coeff commands, one text per command
  std::vector<std::string> modify;         ///< of its pair_modify commands, ditto
  std::string kspace;                      ///< of its kspace_style command; empty: none
  std::vector<std::string> kspace_modify;  ///< of its kspace_modify commands, one text per command
};

/// Reads what follows `pair`, up to and with `end`.
PairOptions read_pair_options(FixArguments &arguments);

}  // namespace LAMMPS_NS
