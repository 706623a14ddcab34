#include "commands/data_warnings.h"

#include <fmt/format.h>
#include <sstream>

#include "training/loss/loss_term.h"

namespace dptrain {

namespace {

constexpr double shortest_likely = 0.4;  // Angstrom; the bond of H2 is 0.74

std::string line_about(const LossTerm::Traits &term, const std::vector<std::string> &without,
                       std::size_t systems)
{
  const bool all = without.size() == systems;
  std::ostringstream line;
  if (all)
    line << "the data have no " << term.label;
  else
    line << without.size() << " of " << systems << " systems have no " << term.label
         << " (the first of them is " << without[0] << ")";
  line << ", which the loss asks for (pref_" << term.name << ")";
  return fmt::format("{}{}; add them, or set it to 0", line.str(),
                     all ? ": they are not learned" : "");
}

}  // namespace

std::vector<std::string> missing_labels(const Systems &systems, const LossConfig &loss)
{
  const LossTerms terms = make_loss_terms(loss);
  std::vector<std::vector<std::string>> without(terms.size());
  for (const auto &system : systems) {
    const Label label = system->num_frames() > 0 ? system->read(0).label : Label();
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (!terms[k]->has_label(label)) without[k].push_back(system->name());
  }
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < terms.size(); ++k)
    if (terms[k]->traits().prefactor.is_on() && !without[k].empty())
      lines.push_back(line_about(terms[k]->traits(), without[k], systems.size()));
  return lines;
}

std::string unlikely_distance(double shortest)
{
  if (!(shortest < shortest_likely)) return "";
  std::ostringstream line;
  line << "two atoms are " << shortest
       << " Angstrom apart: check that coordinates and cells are in Angstrom";
  return line.str();
}

}  // namespace dptrain
