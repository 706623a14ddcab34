/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "adapter/fix_arguments.h"

#include <algorithm>
#include <set>

#include "dptrain/base/error.h"
#include "dptrain/session/option_table.h"

using namespace LAMMPS_NS;

void FixArguments::read_block(const std::string &label, const std::vector<BlockOption> &options)
{
  const std::string outer = keyword_;
  std::vector<std::string> names;
  for (const BlockOption &option : options) names.push_back(option.name);
  names.emplace_back("end");
  std::set<std::string> given;
  while (true) {
    keyword_ = label;
    const std::string name = word(fmt::format("... {}", utils::join_words(names, "|")));
    if (name == "end") break;
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const BlockOption &known) { return known.name == name; });
    if (option == options.end())
      dptrain::refuse_option(fmt::format("option of '{} ... end'", label), name, names);
    keyword_ = fmt::format("{} ... {}", label, name);
    if (!given.insert(name).second && !option->repeated)
      throw dptrain::Error(fmt::format("{} is given twice: remove one of them", keyword_));
    option->read();
  }
  keyword_ = outer;
}
