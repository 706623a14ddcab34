// How the model of a training from data sets comes about, and what a training will cost.

#include <cmath>

#include "dptrain/error.h"
#include "dptrain/statistics.h"
#include "offline/offline_training.h"

namespace dptrain {

ModelData OfflineTraining::new_model()
{
  const ModelConfig &config = input_.model;
  auto excluded = config.exclude_types;
  excluded.insert(excluded.end(), config.pair_exclude_types.begin(),
                  config.pair_exclude_types.end());
  Statistics statistics(config.ntypes(), config.rcut, config.rcut_smth, config.env_protection,
                        config.sel);
  std::vector<double> counts, energies;
  for (std::size_t s = 0; s < training_->systems.size(); ++s)
    for (std::int64_t k = 0; k < training_->systems[s]->num_frames(); ++k) {
      const Frame &frame = *training_->cache.load({{s, k}})[0];
      guarded(*comm_, [&] { statistics.add(frame.domain(), excluded); });
      const WholeFrame whole = training_->systems[s]->read(k);
      std::vector<double> row(config.ntypes(), 0.0);
      for (int t : whole.type) row[t] += 1.0;
      counts.insert(counts.end(), row.begin(), row.end());
      energies.push_back(whole.label.energy.value_or(0.0));
    }
  statistics.reduce(*comm_);
  ModelData data = new_deep_pot(config, statistics, input_.model_def_script);
  data.out_bias = dptrain::fit_energy_bias(counts, energies, config.ntypes());
  return data;
}

ModelData OfflineTraining::model_of(const std::string &option, const std::string &file)
{
  ModelData data;
  guarded(*comm_, [&] {
    const std::string path = find_model_file(file, option);
    data = read_model_file(path);
    if (options_.use_pretrain_script) return;
    const std::string differences = model_differences(data.config, input_.model);
    if (!differences.empty())
      throw Error(option + " " + path + ": another model than that of " + options_.input + ": " +
                  differences + "; change the input, or give --use-pretrain-script");
  });
  return data;
}

void OfflineTraining::fit_energy_bias() {}

void OfflineTraining::estimate() {}

}  // namespace dptrain
