// How the model of a training from data sets comes about, and what a training will cost.

#include <algorithm>
#include <chrono>
#include <sstream>

#include "dptrain/energy_bias_fit.h"
#include "dptrain/error.h"
#include "dptrain/statistics.h"
#include "offline/offline_training.h"

namespace dptrain {

namespace {

constexpr std::int64_t BIAS_FRAMES = 2000;  // enough for a handful of numbers
constexpr int TRIED_STEPS = 6;
constexpr double TRIED_SECONDS = 10.0, MIB = 1024.0 * 1024.0;

double seconds_since(std::chrono::steady_clock::time_point start)
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// All frames, or `most` of them at equal distances.
std::vector<FrameId> spread_frames(const Systems &systems, std::int64_t most)
{
  std::vector<FrameId> all, some;
  for (std::size_t s = 0; s < systems.size(); ++s)
    for (std::int64_t k = 0; k < systems[s]->num_frames(); ++k) all.push_back({s, k});
  const std::int64_t count = static_cast<std::int64_t>(all.size());
  if (count <= most) return all;
  for (std::int64_t k = 0; k < most; ++k) some.push_back(all[k * count / most]);
  return some;
}

}  // namespace

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

void OfflineTraining::fit_energy_bias()
{
  EnergyBiasFit fit(model_, comm_, input_.training.loss.enable_atom_ener_coeff);
  const std::vector<double> before = model_->energy_bias();
  for (const FrameId &id : spread_frames(training_->systems, BIAS_FRAMES))
    fit.add(*training_->cache.load({id})[0]);
  const std::int64_t frames = fit.num_frames();
  if (frames == 0) return say("WARNING: the data have no energies: the energy bias stays");
  const double deviation = fit.apply();
  std::ostringstream text;
  text << "energy bias fitted to " << frames << " frames (eV):";
  const std::vector<double> after = model_->energy_bias();
  for (std::size_t type = 0; type < after.size(); ++type)
    text << " " << input_.model.type_map[type] << " " << before[type] << " -> " << after[type];
  text << "; what remains has a standard deviation of " << deviation << " eV per frame";
  say(text.str());
}

void OfflineTraining::estimate()
{
  const std::int64_t steps = input_.training.numb_steps;
  double seconds = 0.0;
  int tried = 0;
  while (tried < TRIED_STEPS && seconds < TRIED_SECONDS) {
    const std::vector<const Frame *> frames = load(*training_);
    const auto start = std::chrono::steady_clock::now();
    trainer_->update(frames);
    // the first one makes tables and buffers
    seconds += tried++ == 0 ? 0.0 : seconds_since(start);
    comm_->broadcast(&seconds, sizeof(seconds), 0);
  }
  const double step = seconds / std::max(tried - 1, 1);
  std::int64_t frames = 0;
  for (const auto &system : training_->systems) frames += system->num_frames();
  const double read = static_cast<double>(training_->cache.memory_bytes()) /
                      static_cast<double>(std::max<std::int64_t>(training_->cache.reads(), 1));
  const double memory = peak_memory_mib(*comm_);
  std::ostringstream text;
  text.precision(3);
  text << "dry run: nothing was trained. " << steps << " steps of " << 1e3 * step
       << " ms take about " << duration_text(step * static_cast<double>(steps)) << "; a rank needs "
       << memory << " MiB now and about " << read * static_cast<double>(frames) / MIB
       << " MiB for all frames, of which it keeps " << options_.frame_memory * 1024.0 << " MiB";
  say(text.str());
}

}  // namespace dptrain
