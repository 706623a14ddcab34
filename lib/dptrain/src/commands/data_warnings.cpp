#include "commands/data_warnings.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "training/shown_errors.h"

namespace dptrain {

namespace {

constexpr double SHORTEST_LIKELY = 0.4;  // Angstrom; the bond of H2 is 0.74

struct LabelKind {
  std::string term;  ///< of the loss
  const char *name;
  bool (*is_in)(const Label &);
};

const std::array<LabelKind, 3> KINDS{{
    {"e", "energies", [](const Label &label) { return label.energy.has_value(); }},
    {"f", "forces", [](const Label &label) { return !label.force.empty(); }},
    {"v", "virials", [](const Label &label) { return label.virial.has_value(); }},
}};

std::string line_about(const LabelKind &kind, const std::vector<std::string> &without,
                       std::size_t systems)
{
  const bool all = without.size() == systems;
  std::ostringstream line;
  if (all)
    line << "the data have no " << kind.name;
  else
    line << without.size() << " of " << systems << " systems have no " << kind.name
         << " (the first of them is " << without[0] << ")";
  line << ", which the loss asks for (pref_" << kind.term << ")";
  return line.str() + (all ? ": they are not learned" : "");
}

}  // namespace

std::vector<std::string> missing_labels(const Systems &systems, const LossConfig &loss)
{
  std::array<std::vector<std::string>, KINDS.size()> without;
  for (const auto &system : systems) {
    const Label label = system->num_frames() > 0 ? system->read(0).label : Label();
    for (std::size_t k = 0; k < KINDS.size(); ++k)
      if (!KINDS[k].is_in(label)) without[k].push_back(system->name());
  }
  const std::vector<ShownError> shown = shown_errors(loss);
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < KINDS.size(); ++k) {
    const bool asked = std::any_of(shown.begin(), shown.end(), [&](const ShownError &error) {
      return error.term == KINDS[k].term;
    });
    if (asked && !without[k].empty())
      lines.push_back(line_about(KINDS[k], without[k], systems.size()));
  }
  return lines;
}

std::string unlikely_distance(double shortest)
{
  if (!(shortest < SHORTEST_LIKELY)) return "";
  std::ostringstream line;
  line << "two atoms are " << shortest << " Angstrom apart: are coordinates and cells in Angstrom?";
  return line.str();
}

}  // namespace dptrain
