#include "commands/data_warnings.h"

#include <cmath>
#include <fmt/format.h>
#include <sstream>
#include <utility>

#include "training/loss/loss_term.h"

namespace dptrain {

namespace {

constexpr double shortest_likely = 0.4;  // Angstrom; the bond of H2 is 0.74

/// Frames without a kind of label.
struct Missing {
  std::int64_t number = 0;
  std::string first, unread;

  void add(const DataSystem &system, std::int64_t frame)
  {
    if (number++ == 0) first = system.place(frame);
  }
};

std::string line_about(const LossTerm::Traits &term, const Missing &missing, std::int64_t frames)
{
  const bool all = missing.number == frames;
  std::ostringstream line;
  if (all)
    line << "the data have no " << term.label;
  else
    line << missing.number << " of " << frames << " frames have no " << term.label
         << " (the first of them is " << missing.first << ")";
  line << ", which the loss asks for (pref_" << term.name << "): "
       << (all ? "they are not learned" : "nothing is learned from these frames about them");
  if (!missing.unread.empty()) line << "; what is not read is " << missing.unread;
  line << "; add them, or set it to 0";
  return line.str();
}

}  // namespace

std::vector<std::string> missing_labels(const Systems &systems, const LossConfig &loss,
                                        bool wants_virials)
{
  const LossTerms terms = make_loss_terms(loss);
  std::vector<Missing> missing(terms.size());
  std::int64_t frames = 0;
  for (const auto &system : systems)
    for (std::int64_t k = 0; k < system->num_frames(); ++k, ++frames) {
      const Label label = system->label_kinds(k);
      for (std::size_t t = 0; t < terms.size(); ++t)
        if (!terms[t]->has_label(label)) {
          missing[t].add(*system, k);
          if (missing[t].unread.empty())
            missing[t].unread = system->unread_label(terms[t]->traits().label);
        }
    }
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < terms.size(); ++t)
    if (terms[t]->traits().prefactor.is_on() && missing[t].number > 0 &&
        (wants_virials || terms[t]->traits().name != "v"))
      lines.push_back(line_about(terms[t]->traits(), missing[t], frames));
  return lines;
}

std::vector<std::string> partial_labels(const DataSystem &system,
                                        const std::vector<std::int64_t> &frames)
{
  Missing energy, force;
  for (const std::int64_t frame : frames) {
    const Label label = system.label_kinds(frame);
    if (!label.energy) energy.add(system, frame);
    if (label.force.empty()) force.add(system, frame);
  }
  const auto total = static_cast<std::int64_t>(frames.size());
  std::vector<std::string> lines;
  for (const auto &[name, missing] :
       {std::pair("energies", &energy), std::pair("forces", &force)}) {
    if (missing->number == 0) continue;
    const std::string unread = system.unread_label(name);
    if (missing->number == total && unread.empty()) continue;  // the errors tell: there are none
    lines.push_back(
        fmt::format("{} of {} frames have no {} (the first of them is {}){}: the errors are those "
                    "of the other frames",
                    missing->number, total, name, missing->first,
                    unread.empty() ? "" : fmt::format("; what is not read is {}", unread)));
  }
  return lines;
}

std::vector<std::string> outlier_lines(const Systems &systems, const DataStatistics &found,
                                       const std::vector<std::string> &type_map)
{
  constexpr std::size_t most = 5;
  std::vector<std::string> lines;
  const auto &outliers = found.outliers.frames;
  for (std::size_t k = 0; k < outliers.size() && k < most; ++k) {
    std::ostringstream line;
    line << systems[outliers[k].system]->place(outliers[k].frame) << " has an energy of "
         << outliers[k].energy << " eV, " << std::abs(outliers[k].per_atom) << " eV per atom "
         << (outliers[k].per_atom > 0.0 ? "above" : "below")
         << " what the other frames tell; they deviate by " << found.outliers.typical
         << " eV per atom: check it, and leave the frame out if it is wrong";
    lines.push_back(line.str());
  }
  if (outliers.empty()) return lines;
  std::ostringstream line;
  if (outliers.size() == 1)
    line << "this frame moves";
  else
    line << outliers.size() << " such frames move";
  line << " the energies of atoms (energy bias) from";
  for (std::size_t t = 0; t < type_map.size(); ++t)
    line << " " << type_map[t] << " " << found.outliers.bias_without[t] << " to "
         << found.energy.bias[t] << (t + 1 < type_map.size() ? "," : " eV");
  lines.push_back(line.str());
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
