// How the model of a training from data sets comes about, and what a training will cost.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <optional>
#include <sstream>

#include "commands/data_warnings.h"
#include "commands/offline_training.h"
#include "dptrain/base/error.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/session/checkpoint.h"
#include "dptrain/training/energy_bias_fit.h"
#include "input/json_document.h"
#include "session/data_statistics.h"
#include "session/model_factory.h"
#include "session/statistics_file.h"

namespace dptrain {

namespace {

constexpr std::int64_t bias_frames = 2000;  // enough for a handful of numbers
constexpr int tried_steps = 6;
constexpr double tried_seconds = 10.0, mib = 1024.0 * 1024.0, mib_per_gib = 1024.0;

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

void OfflineTraining::check_output() const
{
  std::error_code missing;
  for (const auto &file :
       {options_.input, options_.restart, options_.init_model, options_.finetune})
    for (const auto &name : {file, file + ".dp"})
      if (!file.empty() && std::filesystem::equivalent(options_.output, name, missing))
        throw Error("--output " + options_.output +
                    " is a file that this training reads: choose another name");
}

// One rank reads, the others get what it read.
void OfflineTraining::read_start()
{
  const bool restarts = !options_.restart.empty();
  const std::string &file = options_.init_model.empty() ? options_.finetune : options_.init_model;
  if (options_.use_pretrain_script && (restarts || file.empty()))
    throw Error("--use-pretrain-script needs --init-model or --finetune");
  if (!restarts && file.empty()) return;
  if (restarts) restart_.emplace();
  start_.emplace();
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (restarts)
      restart_ = read_checkpoint(find_model_file(options_.restart));
    else
      start_ = read_model_file(file);
  });
  if (restarts)
    broadcast(*comm_, *restart_);
  else
    broadcast(*comm_, *start_);
  if (restarts) start_ = restart_->model;
  start_->whitening.clear();  // those of the parameters before
  start_->calibration.clear();
}

/// The text of the input, where asked for with the model section of the file that the training starts from.
std::string OfflineTraining::with_model_of_start(const std::string &input) const
{
  if (!options_.use_pretrain_script || start_->model_def_script.empty()) return input;
  nlohmann::json document = parse_json(input, options_.input);
  if (document.is_object())
    document["model"] = parse_json(start_->model_def_script, "model_def_script");
  return document.dump(2);
}

std::string OfflineTraining::start_option() const
{
  if (!options_.restart.empty()) return "--restart " + options_.restart;
  if (!options_.init_model.empty()) return "--init-model " + options_.init_model;
  return options_.finetune.empty() ? "" : "--finetune " + options_.finetune;
}

void OfflineTraining::check_start()
{
  if (!start_) return;
  if (!start_->archive.empty()) {
    input_.model = start_->config;
    input_.model_def_script = start_->model_def_script;
    return;
  }
  // Which parts are trained is a matter of this training, not of the file that it starts from.
  start_->config.descriptor->trainable = input_.model.descriptor->trainable;
  start_->config.fitting_trainable = input_.model.fitting_trainable;
  if (options_.use_pretrain_script) {
    input_.model = start_->config;
    return;
  }
  const std::string differences = model_differences(start_->config, input_.model);
  if (differences.empty()) return;
  throw Error(
      start_option() + " holds another model than " + options_.input + " asks for: " + differences +
      (restart_ ? "; change the input" : "; change the input, or give --use-pretrain-script"));
}

ModelData OfflineTraining::new_model()
{
  const OfflineConfig &offline = input_.offline;
  std::optional<StoredStatistics> stored;
  ModelConfig config = input_.model;
  const auto read = [&] {
    if (!offline.stat_file.empty() && !config.descriptor->needs_neighbor_counts())
      stored = read_deepmd_statistics(*comm_, offline.stat_file, config);
  };
  read();
  std::optional<DataStatistics> found;
  if (!stored || !options_.skip_neighbor_stat) found = count_data();
  if (config.descriptor->needs_neighbor_counts()) {
    complete(config, found->statistics);
    read();
  }
  if (!stored && offline.stat_file_mode == StatFileMode::read && !offline.stat_file.empty())
    throw Error("stat_file " + offline.stat_file + " has no statistics for this model, and " +
                "stat_file_mode is read; change the mode to update to have them computed");

  const Statistics &moments = stored ? stored->statistics : found->statistics;
  ModelData data = dptrain::new_model(*comm_, config, moments, input_.model_def_script);
  data.out_bias = stored ? stored->out_bias : found->energy.bias;
  for (int type = 0; type < config.ntypes(); ++type)
    data.out_bias[type] -= data.bias_atom_e[type];  // atom_ener is a part of it
  if (found && std::isfinite(found->statistics.min_distance()))
    data.min_nbor_dist = found->statistics.min_distance();
  if (found) say_statistics(*found, data);
  if (stored)
    say("moments of the descriptor and energy bias are those of stat_file " + offline.stat_file);
  if (!stored && !offline.stat_file.empty() && !options_.dry_run)
    guarded(*comm_, [&] {
      if (comm_->rank() == 0) write_deepmd_statistics(offline.stat_file, config, *found);
    });
  return data;
}

DataStatistics OfflineTraining::count_data()
{
  StatisticsOptions options;
  options.min_pair_dist = input_.offline.training_data.min_pair_dist;
  if (options_.skip_neighbor_stat) {
    if (input_.model.descriptor->needs_neighbor_counts())
      throw Error("--skip-neighbor-stat: " + options_.input +
                  " leaves sel to the neighbor statistics; give numbers there");
    for (const std::int64_t batch : training_->plan.batch_sizes())
      options.max_frames.push_back(batch * input_.offline.data_stat_nbatch);
  } else {
    say("counting the neighbors in the training data (--skip-neighbor-stat leaves it out)");
  }
  return collect_statistics(*comm_, training_->systems, input_.model, options);
}

void OfflineTraining::say_statistics(const DataStatistics &found, const ModelData &data)
{
  std::ostringstream text;
  text << "statistics of the training data: smallest distance " << found.statistics.min_distance()
       << " Angstrom; most neighbors";
  for (int n : found.statistics.max_neighbors()) text << " " << n;
  const std::vector<int> limits = data.config.descriptor->neighbor_limits();
  if (!limits.empty()) text << ", sel";
  for (int n : limits) text << " " << n;
  text << "; energy bias (eV)";
  for (double energy : data.out_bias) text << " " << energy;
  say(text.str());
  const std::string unlikely = unlikely_distance(found.statistics.min_distance());
  if (!unlikely.empty()) say("WARNING: " + unlikely);
  for (std::size_t type = 0; type < limits.size(); ++type) {
    if (found.statistics.max_neighbors()[type] <= limits[type]) continue;
    health_.overflow_is_known();
    say("WARNING: atoms have up to " + std::to_string(found.statistics.max_neighbors()[type]) +
        " neighbors of element " + data.config.type_map[type] + ", sel keeps the nearest " +
        std::to_string(limits[type]));
  }
}

void OfflineTraining::fit_energy_bias()
{
  EnergyBiasFit fit(model_, comm_, input_.training.loss.enable_atom_ener_coeff);
  const std::vector<double> before = model_->energy_bias();
  for (const FrameId &id : spread_frames(training_->systems, bias_frames)) {
    const BatchShares shares(load(*training_, {id}), *comm_, fit.num_frames());
    for (const Frame *frame : shares.frames()) fit.add(*frame);
  }
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
  const std::int64_t steps =
      std::max<std::int64_t>(input_.training.numb_steps - trainer_->steps(), 0);
  double seconds = 0.0;
  int tried = 0;
  while (tried < tried_steps && seconds < tried_seconds) {
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
  const double all = read * static_cast<double>(frames) / mib;
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << "dry run: nothing was trained. " << steps
       << " steps of " << 1e3 * step << " ms take about "
       << duration_text(step * static_cast<double>(steps)) << "; a rank needs "
       << std::setprecision(0) << memory << " MiB now and about " << std::setprecision(1) << all
       << " MiB for all frames, of which it keeps "
       << std::min(all, mib_per_gib * options_.parallel.frame_memory) << " MiB";
  say(text.str());
}

}  // namespace dptrain
