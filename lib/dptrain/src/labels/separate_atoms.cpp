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

std::vector<double> ask_for_separate_atoms(LabelSource &source, const std::vector<int> &types,
                                           const std::vector<std::string> &type_map, bool periodic)
{
  std::map<std::int64_t, std::size_t> asked;  // place of the type of a request
  for (std::size_t k = 0; k < types.size(); ++k)
    asked[source.submit(separate_atom(types[k], periodic))] = k;
  std::vector<double> energies(types.size());
  const auto refuse = [&](const std::string &atom, const std::string &why) {
    throw Error(fmt::format("atoms: the reference gives no energy of a separate atom{}: {}; leave "
                            "'atoms yes' out, or give the energies of separate atoms as "
                            "fitting_net/atom_ener in an input.json",
                            atom, why));
  };
  while (!asked.empty()) {
    std::vector<LabelAnswer> answers;
    try {
      answers = source.poll();
    } catch (const Error &error) {
      refuse("", error.what());
    }
    for (const LabelAnswer &answer : answers) {
      const auto request = asked.find(answer.request);
      if (request == asked.end()) continue;  // of a call that has failed
      const std::string atom = " " + type_map[types[request->second]];
      if (!answer.failure.empty()) refuse(atom, answer.failure);
      const double energy = answer.label.energy.value_or(HUGE_VAL);
      if (!std::isfinite(energy)) refuse(atom, "it is not a finite number");
      energies[request->second] = energy;
      asked.erase(request);
    }
    if (answers.empty()) source.wait(one_wait);
  }
  return energies;
}

}  // namespace dptrain
