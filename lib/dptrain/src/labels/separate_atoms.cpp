#include "dptrain/labels/separate_atoms.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr double edge = 15.0;      // Angstrom, of a cell in which an atom does not see its images
constexpr double one_wait = 60.0;  // seconds

WholeFrame separate_atom(int type, bool periodic)
{
  WholeFrame frame;
  frame.type = {type};
  frame.coord.assign(3, edge / 2.0);
  frame.box = {edge, 0.0, 0.0, 0.0, edge, 0.0, 0.0, 0.0, edge};
  frame.periodic = periodic;
  return frame;
}

}  // namespace

std::vector<double> ask_for_separate_atoms(LabelSource &source,
                                           const std::vector<std::string> &elements, bool periodic)
{
  std::map<std::int64_t, std::size_t> asked;  // element of a request
  for (std::size_t type = 0; type < elements.size(); ++type)
    asked[source.submit(separate_atom(static_cast<int>(type), periodic))] = type;
  std::vector<double> energies(elements.size());
  for (;;) {
    for (const LabelAnswer &answer : source.poll()) {
      const std::size_t type = asked.at(answer.request);
      asked.erase(answer.request);
      const bool is_energy = answer.label.energy && std::isfinite(*answer.label.energy);
      if (!answer.failure.empty() || !is_energy)
        throw Error(fmt::format(
            "atoms: the reference gives no energy of a separate atom {}: {}; "
            "leave 'atoms yes' out, or give the energies of separate atoms as "
            "fitting_net/atom_ener in an input.json",
            elements[type], answer.failure.empty() ? "it is not a finite number" : answer.failure));
      energies[type] = *answer.label.energy;
    }
    if (asked.empty()) return energies;
    source.wait(one_wait);
  }
}

}  // namespace dptrain
