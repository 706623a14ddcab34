#include "offline/data_warnings.h"

#include <functional>
#include <sstream>

namespace dptrain {

namespace {

constexpr double SHORTEST_LIKELY = 0.4;  // Angstrom; the bond of H2 is 0.74

struct LabelKind {
  const char *name, *prefactor;
  bool asked;
  std::function<bool(const Label &)> is_in;
};

}  // namespace

std::vector<std::string> missing_labels(const Systems &systems, const LossConfig &loss)
{
  const auto active = [](double start, double limit) { return start != 0.0 || limit != 0.0; };
  const LabelKind kinds[] = {
      {"energies", "pref_e", active(loss.start_pref_e, loss.limit_pref_e),
       [](const Label &label) { return label.energy.has_value(); }},
      {"forces", "pref_f", active(loss.start_pref_f, loss.limit_pref_f),
       [](const Label &label) { return !label.force.empty(); }},
      {"virials", "pref_v", active(loss.start_pref_v, loss.limit_pref_v),
       [](const Label &label) { return label.virial.has_value(); }},
  };
  std::vector<Label> labels;
  for (const auto &system : systems)
    labels.push_back(system->num_frames() > 0 ? system->read(0).label : Label());
  std::vector<std::string> lines;
  for (const LabelKind &kind : kinds) {
    std::vector<std::string> without;
    for (std::size_t k = 0; kind.asked && k < systems.size(); ++k)
      if (!kind.is_in(labels[k])) without.push_back(systems[k]->name());
    if (without.empty()) continue;
    const bool all = without.size() == systems.size();
    std::ostringstream line;
    if (all)
      line << "the data have no " << kind.name;
    else
      line << without.size() << " of " << systems.size() << " systems have no " << kind.name
           << " (the first of them is " << without[0] << ")";
    line << ", which the loss asks for (" << kind.prefactor << ")";
    lines.push_back(line.str() + (all ? ": they are not learned" : ""));
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
