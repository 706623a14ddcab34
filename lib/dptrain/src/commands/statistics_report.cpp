#include "commands/statistics_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "commands/data_warnings.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"

namespace dptrain {

namespace {

std::string padded(std::string text, std::size_t width)
{
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

/// atoms / Angstrom^3; 0 without a cell.
double density(const SystemStatistics &system)
{
  return system.volume > 0.0 ? static_cast<double>(system.atoms_in_cells) / system.volume : 0.0;
}

std::int64_t total(const StatisticsReport &report, std::int64_t SystemStatistics::*member)
{
  std::int64_t sum = 0;
  for (const auto &system : report.found.systems) sum += system.*member;
  return sum;
}

std::size_t name_width(const StatisticsReport &report)
{
  std::size_t width = 6;
  for (const auto &name : report.names) width = std::max(width, name.size());
  return width;
}

std::string row(const std::string &name, const SystemStatistics &system)
{
  const double frames = std::max<double>(1.0, static_cast<double>(system.frames));
  std::string line = fmt::format("{} {:9} {:9.6g} {:10.5g}", name, system.frames,
                                 static_cast<double>(system.atoms) / frames, density(system));
  if (system.closest) {
    const auto &[pair, frame] = *system.closest;
    line += fmt::format(" {:9.6f} {:9} {:>13}", pair.distance, frame,
                        fmt::format("{}-{}", pair.i, pair.j));
  } else {
    line += fmt::format(" {:>9} {:>9} {:>13}", "-", "-", "-");
  }
  return line + "  " + joined(system.max_neighbors);
}

/// A line for each type: name, davg and dstd, energy bias.
void add_types(const StatisticsReport &report, std::vector<std::string> &lines)
{
  const auto &[config, names, found, ranks, seconds] = report;
  const auto davg = found.statistics.davg(report.sel(), false);
  const auto dstd = found.statistics.dstd(report.sel());
  lines.push_back("type        atoms  max_nbor   sel         davg  dstd radial dstd angular   "
                  "energy bias (eV)");
  for (int t = 0; t < config.ntypes(); ++t)
    lines.push_back(fmt::format("{:4} {:12} {:9} {:5} {:12.8f} {:12.8f} {:12.8f} {:18.8f}",
                                config.type_map[t], found.statistics.centers(t),
                                found.statistics.max_neighbors()[t], report.sel()[t], davg[4 * t],
                                dstd[4 * t], dstd[4 * t + 1], found.energy.bias[t]));
}

nlohmann::ordered_json rows_of_four(const std::vector<double> &values)
{
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < values.size(); k += 4)
    rows.push_back(std::vector<double>(values.begin() + k, values.begin() + k + 4));
  return rows;
}

nlohmann::ordered_json json_of(const std::string &name, const SystemStatistics &system)
{
  nlohmann::ordered_json entry{{"name", name},
                               {"frames", system.frames},
                               {"atoms", system.atoms},
                               {"density", nullptr},
                               {"min_distance", nullptr},
                               {"frame", nullptr},
                               {"pair", nullptr},
                               {"max_neighbors", system.max_neighbors}};
  if (system.volume > 0.0) entry["density"] = density(system);
  if (system.closest) {
    entry["min_distance"] = system.closest->pair.distance;
    entry["frame"] = system.closest->frame;
    entry["pair"] = {system.closest->pair.i, system.closest->pair.j};
  }
  return entry;
}

}  // namespace

std::vector<int> StatisticsReport::recommended_sel() const
{
  return found.statistics.recommended_sel(*se_e2_a(config).sel_factor);
}

std::vector<int> StatisticsReport::sel() const
{
  const std::vector<int> &sel = se_e2_a(config).sel;
  return sel.empty() ? recommended_sel() : sel;
}

std::vector<std::string> text_lines(const StatisticsReport &report)
{
  const auto &[config, names, found, ranks, seconds] = report;
  const std::size_t width = name_width(report);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("Statistics of {} systems, {} frames, {} atoms; cutoff {:g} "
                              "Angstrom; {} rank{}, {:.3f} seconds",
                              names.size(), total(report, &SystemStatistics::frames),
                              total(report, &SystemStatistics::atoms), config.rcut, ranks,
                              ranks == 1 ? "" : "s", seconds));
  lines.push_back(
      fmt::format("{}    frames     atoms  atoms/A^3  min_dist     frame         atoms  max_nbor",
                  padded("system", width)));
  for (std::size_t s = 0; s < names.size(); ++s)
    lines.push_back(row(padded(names[s], width), found.systems[s]));
  add_types(report, lines);
  if (found.energy.frames > 0)
    lines.push_back(fmt::format("energy bias: from {} frames, which deviate from it by {:.6g} eV "
                                "(standard deviation), {:.6g} eV per atom (root mean square)",
                                found.energy.frames, found.energy.deviation[0],
                                found.energy.rmse_per_atom));
  lines.push_back(fmt::format("recommended sel ({:g} times the largest numbers, in steps of 4): {}",
                              *se_e2_a(config).sel_factor, joined(report.recommended_sel())));
  const std::vector<int> &sel = se_e2_a(config).sel;
  for (std::size_t t = 0; t < sel.size(); ++t)
    if (found.statistics.max_neighbors()[t] > sel[t])
      lines.push_back(fmt::format("WARNING: sel of {} is {}, but an atom has {} such neighbors: "
                                  "only the nearest count; give a larger sel to keep all",
                                  config.type_map[t], sel[t], found.statistics.max_neighbors()[t]));
  const std::string unlikely = unlikely_distance(found.statistics.min_distance());
  if (!unlikely.empty()) lines.push_back("WARNING: " + unlikely);
  lines.push_back(fmt::format("min_nbor_dist: {:f}", found.statistics.min_distance()));
  lines.push_back("max_nbor_size: [" + joined(found.statistics.max_neighbors()) + "]");
  return lines;
}

std::string json_text(const StatisticsReport &report)
{
  const auto &[config, names, found, ranks, seconds] = report;
  Statistics statistics = found.statistics;
  statistics.set_source(fmt::format("dptrain stat: {} systems, {} frames", names.size(),
                                    total(report, &SystemStatistics::frames)));
  auto root = nlohmann::ordered_json::parse(statistics.to_json(config.type_map));
  root["recommended_sel"] = report.recommended_sel();
  root["sel"] = report.sel();
  root["davg"] = rows_of_four(statistics.davg(report.sel(), false));
  root["dstd"] = rows_of_four(statistics.dstd(report.sel()));
  root["energy"] = {{"frames", found.energy.frames},
                    {"bias", found.energy.bias},
                    {"deviation", found.energy.deviation},
                    {"rmse_per_atom", found.energy.rmse_per_atom}};
  root["frames"] = total(report, &SystemStatistics::frames);
  root["atoms"] = total(report, &SystemStatistics::atoms);
  root["systems"] = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < names.size(); ++s)
    root["systems"].push_back(json_of(names[s], found.systems[s]));
  return root.dump(1) + "\n";
}

}  // namespace dptrain
