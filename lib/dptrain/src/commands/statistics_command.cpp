// run_statistics: what `dptrain stat` does.

#include <chrono>
#include <cmath>
#include <fmt/format.h>

#include "commands/statistics_report.h"
#include "dptrain/base/error.h"
#include "dptrain/commands/commands.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "io/file.h"
#include "statistics/data/data_statistics.h"

namespace dptrain {

namespace {

void check(const StatOptions &options)
{
  const auto fail = [](const std::string &what) {
    throw Error(fmt::format("dptrain stat: {}", what));
  };
  if (!(options.rcut > 0.0) || !std::isfinite(options.rcut))
    fail(fmt::format("the cutoff (rcut) must be a positive number of Angstrom, found {}",
                     options.rcut));
  if (!(options.rcut_smth >= 0.0) || options.rcut_smth >= options.rcut)
    fail(fmt::format("rcut_smth must be from 0 to less than rcut ({}), found {}", options.rcut,
                     options.rcut_smth));
  if (!(options.sel_factor >= 1.0) || !std::isfinite(options.sel_factor))
    fail(fmt::format("the factor of sel must be 1 or more, found {}", options.sel_factor));
  for (int n : options.sel)
    if (n < 0) fail(fmt::format("sel must not be negative, found {}", n));
}

/// Settings of a model that has nothing but a descriptor.
ModelConfig config_of(const StatOptions &options, const std::vector<std::string> &type_map)
{
  ModelConfig config;
  config.type_map = type_map;
  config.rcut = options.rcut;
  auto descriptor = std::make_unique<SeE2AConfig>();
  descriptor->rcut_smth = options.rcut_smth;
  descriptor->sel = options.sel;
  descriptor->sel_factor = options.sel_factor;
  config.descriptor = std::move(descriptor);
  if (!options.sel.empty() && options.sel.size() != type_map.size())
    throw Error(
        fmt::format("dptrain stat: sel has {} numbers: give one for each of the {} elements",
                    options.sel.size(), type_map.size()));
  return config;
}

}  // namespace

void run_statistics(std::shared_ptr<const Communicator> comm, const StatOptions &options,
                    const Log &log)
{
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> names;
  Systems systems;
  ModelConfig config;
  guarded(*comm, [&] {
    check(options);
    names = find_systems(options.systems);
    config = config_of(options, options.type_map.empty() ? elements_of(names) : options.type_map);
    DataOptions data;
    data.type_map = config.type_map;
    for (const auto &name : names) systems.push_back(open_system(name, data));
  });
  const DataStatistics found = collect_statistics(*comm, systems, config);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  guarded(*comm, [&] {
    if (comm->rank() != 0) return;
    const StatisticsReport report{config, names, found, comm->size(), seconds.count()};
    for (const auto &line : text_lines(report)) log(line);
    if (options.output.empty()) return;
    write_atomically(options.output,
                     [&](const std::string &name) { write_file(name, json_text(report)); });
    log(fmt::format("Statistics written to {}", options.output));
  });
}

}  // namespace dptrain
