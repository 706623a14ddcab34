#include "dptrain/potential/descriptor/power_spectrum_config.h"

#include <algorithm>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "input/model_keys.h"
#include "kernels/limits.h"

namespace dptrain {

void PowerSpectrumConfig::read(JsonReader &section, ModelConfig &model)
{
  const auto count = [&](const char *key, int value, int least, int most) {
    return static_cast<int>(section.integer(key, value, least, most));
  };
  read_cutoff(section, "rcut", model);
  rcut_smth = section.number("rcut_smth", model.rcut / 3.0);
  if (!(rcut_smth >= 0.0 && rcut_smth < model.rcut))
    section.fail(
        "rcut_smth",
        fmt::format("must be at least 0 and smaller than rcut; found rcut_smth = {}, rcut = {}",
                    nlohmann::json(rcut_smth).dump(), nlohmann::json(model.rcut).dump()));
  n_max = count("n_max", n_max, 1, 256);
  axis_neuron = count("axis_neuron", std::min(axis_neuron, n_max), 1, n_max);
  l_max = count("l_max", l_max, 0, kernels::most_l);
  n_basis = count("n_basis", n_basis, 1, kernels::most_functions);
  exclude_types = read_pairs(section, "exclude_types", model.ntypes());
  read_common_keys(section, *this);
}

// Measured: bench/choices. A training from data sets knows how long it is, and its rate falls. A session does not: its rate stays,
// and what it shows is an average of the weights.
bool PowerSpectrumConfig::set_input_defaults(InputFile &input, bool in_a_run) const
{
  TrainingConfig &training = input.training;
  input.model.fitting_neuron = {48, 48, 48};
  training.optimizer.type = OptimizerType::soap;
  auto &prefactors = training.loss.prefactors;
  if (in_a_run) {
    input.soap_start_lr = 3e-3;
    training.schedule.type = ScheduleType::exponential;
    training.schedule.stop_lr_ratio = 1.0;
    prefactors["e"] = {1.0, 1.0};
    prefactors["f"] = {100.0, 100.0};
    prefactors["v"] = {0.1, 0.1};
    training.ema_decay = 0.98;
    training.disp_freq = 100;
  } else {
    input.soap_start_lr = 1e-2;
    training.schedule.type = ScheduleType::cosine;
    training.schedule.stop_lr_ratio = 1e-3;
    prefactors["e"] = {0.02, 10.0};
    prefactors["f"] = {1000.0, 100.0};
    prefactors["v"] = {0.02, 1.0};
    training.numb_steps = 10000;
    input.length_given = true;
    input.offline.training_data.batch_size.number = 128;
  }
  return true;
}

std::string PowerSpectrumConfig::keys(const ModelConfig &model) const
{
  nlohmann::ordered_json section{{"type", type()},
                                 {"rcut", model.rcut},
                                 {"rcut_smth", rcut_smth},
                                 {"n_max", n_max},
                                 {"axis_neuron", axis_neuron},
                                 {"l_max", l_max},
                                 {"n_basis", n_basis},
                                 {"exclude_types", exclude_types},
                                 {"precision", precision},
                                 {"trainable", trainable}};
  if (seed) section["seed"] = *seed;
  return section.dump();
}

const PowerSpectrumConfig &power_spectrum(const ModelConfig &model)
{
  const DescriptorConfig *descriptor = model.descriptor.get();
  if (const auto *config = dynamic_cast<const PowerSpectrumConfig *>(descriptor)) return *config;
  throw Error(fmt::format("this needs a model with descriptor power_spectrum{}",
                          descriptor ? fmt::format("; this one has {}", descriptor->type())
                                     : std::string()));
}

}  // namespace dptrain
