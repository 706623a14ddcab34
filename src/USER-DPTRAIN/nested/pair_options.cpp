/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/pair_options.h"

#include <algorithm>

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

PairOptions LAMMPS_NS::read_pair_options(FixArguments &a)
{
  const std::string usage = "pair STYLE [arguments] coeff \"...\" [coeff \"...\"] [modify \"...\"] "
                            "[kspace \"...\" [kspace_modify \"...\"]] end";
  PairOptions o;
  const auto text = [&a] { return a.word("\"...\", the arguments of a command"); };
  const std::vector<FixArguments::BlockOption> options{
      {"coeff", [&] { o.coeffs.push_back(text()); }, true},
      {"modify", [&] { o.modify.push_back(text()); }, true},
      {"kspace", [&] { o.kspace = text(); }},
      {"kspace_modify", [&] { o.kspace_modify.push_back(text()); }, true}};
  const auto begins_block = [&](const std::string &word) {
    return word == "end" || std::any_of(options.begin(), options.end(),
                                        [&](const auto &option) { return option.name == word; });
  };
  o.style = a.word(usage);
  while (!begins_block(a.peek())) o.args.push_back(a.word(usage));
  a.read_block(fmt::format("{} pair", a.current()), options);
  return o;
}
