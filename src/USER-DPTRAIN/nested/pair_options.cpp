/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/pair_options.h"

#include <algorithm>

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

PairOptions LAMMPS_NS::read_pair_options(FixArguments &arguments)
{
  static const std::vector<std::string> KEYWORDS{"coeff", "modify", "kspace", "kspace_modify",
                                                 "end"};
  const std::string usage = "pair STYLE [arguments] coeff \"...\" [coeff \"...\"] [modify \"...\"] "
                            "[kspace \"...\" [kspace_modify \"...\"]] end";
  PairOptions options;
  options.style = arguments.word(usage);
  std::string word = arguments.word(usage);
  for (; std::find(KEYWORDS.begin(), KEYWORDS.end(), word) == KEYWORDS.end();
       word = arguments.word(usage))
    options.args.push_back(word);
  for (; word != "end"; word = arguments.word(usage)) {
    if (word == "coeff")
      options.coeffs.push_back(arguments.word(usage));
    else if (word == "modify")
      options.modify.push_back(arguments.word(usage));
    else if (word == "kspace")
      options.kspace = arguments.word(usage);
    else if (word == "kspace_modify")
      options.kspace_modify.push_back(arguments.word(usage));
    else
      arguments.lammps()->error->all(
          FLERR, arguments.position(),
          fmt::format("Fix dptrain: found {} where 'coeff', 'modify', 'kspace', 'kspace_modify' or "
                      "'end' must stand: {} {}",
                      word, arguments.current(), usage));
  }
  return options;
}
