#include "commands/data_model.h"

#include <cmath>
#include <fmt/format.h>
#include <sstream>
#include <utility>

#include "commands/data_warnings.h"
#include "commands/spread_frames.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/native/deep_pot.h"
#include "session/learning/charge_search.h"
#include "session/learning/model_factory.h"

namespace dptrain {

constexpr std::int64_t frames_of_scaler = 200;

DataModel::DataModel(std::shared_ptr<const Communicator> comm, const TrainOptions &options,
                     const InputFile &input, BatchSource &training, Log say, Health &health) :
    comm_(std::move(comm)),
    options_(options),
    input_(input),
    training_(training),
    say_(std::move(say)),
    health_(health)
{
}

ModelData DataModel::make()
{
  const DataStatistics found = count_data();
  ModelConfig config = input_.model;
  if (config.descriptor->needs_neighbor_counts()) complete(config, found.statistics);
  ModelData data =
      dptrain::new_model(comm_, config, found.statistics, input_.model_def_script, [&] {
        return training_.cache.load(spread_frames(training_.systems, frames_of_scaler));
      });
  data.out_bias = found.energy.bias;
  for (int type = 0; type < config.ntypes(); ++type)
    data.out_bias[type] -= data.bias_atom_e[type];  // atom_ener is a part of it
  if (std::isfinite(found.statistics.min_distance()))
    data.min_nbor_dist = found.statistics.min_distance();
  tell(found, data);
  // a dry run estimates with charges that the search begins with
  if (ChargeSearch::is_asked_for(config) && !options_.dry_run) search_charges(data);
  return data;
}

void DataModel::search_charges(ModelData &data)
{
  const auto frames =
      training_.cache.load(spread_frames(training_.systems, ChargeSearch::most_frames));
  if (!ChargeSearch(comm_, input_.training, options_.precision).choose(data, frames, say_))
    throw Error(fmt::format("{}: {}", options_.input, ChargeSearch::needs));
}

DataStatistics DataModel::count_data() const
{
  StatisticsOptions options;
  options.min_pair_dist = input_.offline.training_data.min_pair_dist;
  if (options_.skip_neighbor_stat) {
    if (input_.model.descriptor->needs_neighbor_counts())
      throw Error(fmt::format(
          "--skip-neighbor-stat: {} leaves sel to the neighbor statistics; give numbers there",
          options_.input));
    for (const std::int64_t batch : training_.plan.batch_sizes())
      options.max_frames.push_back(batch * input_.offline.data_stat_nbatch);
  } else {
    say_("counting the neighbors in the training data (--skip-neighbor-stat leaves it out)");
  }
  return collect_statistics(*comm_, training_.systems, input_.model, options);
}

void DataModel::tell(const DataStatistics &found, const ModelData &data) const
{
  std::ostringstream text;
  text << "statistics of the training data: smallest distance " << found.statistics.min_distance()
       << " Angstrom; most neighbors";
  for (int n : found.statistics.max_neighbors()) text << " " << n;
  const std::vector<int> limits = data.config.descriptor->neighbor_limits();
  if (!limits.empty()) text << ", sel";
  for (int n : limits) text << " " << n;
  text << "; energies of separate atoms: " << text_of_atom_energies(data) << "; energy bias (eV)";
  for (double energy : data.out_bias) text << " " << energy;
  say_(text.str());
  for (const std::string &line : outlier_lines(training_.systems, found, data.config.type_map))
    say_(fmt::format("WARNING: training data: {}", line));
  const std::string unlikely = unlikely_distance(found.statistics.min_distance());
  if (!unlikely.empty()) say_("WARNING: " + unlikely);
  for (std::size_t type = 0; type < limits.size(); ++type) {
    if (found.statistics.max_neighbors()[type] <= limits[type]) continue;
    health_.overflow_is_known();
    say_(fmt::format("WARNING: atoms have up to {} neighbors of element {}, sel keeps the nearest "
                     "{}: give a larger sel to keep all",
                     found.statistics.max_neighbors()[type], data.config.type_map[type],
                     limits[type]));
  }
}

}  // namespace dptrain
