#include "dptrain/potential/descriptor/power_spectrum_config.h"

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
    section.fail("rcut_smth", "must be at least 0 and smaller than rcut; found rcut_smth = " +
                                  nlohmann::json(rcut_smth).dump() +
                                  ", rcut = " + nlohmann::json(model.rcut).dump());
  n_max = count("n_max", n_max, 1, 256);
  axis_neuron = count("axis_neuron", axis_neuron, 1, n_max);
  l_max = count("l_max", l_max, 0, kernels::most_l);
  n_basis = count("n_basis", n_basis, 1, kernels::most_functions);
  exclude_types = read_pairs(section, "exclude_types", model.ntypes());
  read_common_keys(section, *this);
}

// Measured: bench/choices.
std::string PowerSpectrumConfig::input_defaults(bool in_a_run) const
{
  const std::string model =
      R"("model": {"fitting_net": {"neuron": [48, 48, 48]}}, "optimizer": {"type": "SOAP"}, )";
  if (in_a_run)
    return "{" + model + R"(
      "learning_rate": {"type": "exp", "start_lr": 3e-3, "stop_lr": 3e-3},
      "loss": {"start_pref_e": 1, "limit_pref_e": 1, "start_pref_f": 100, "limit_pref_f": 100,
               "start_pref_v": 0.1, "limit_pref_v": 0.1},
      "training": {"enable_ema": true, "ema_decay": 0.98}})";
  return "{" + model + R"(
    "learning_rate": {"type": "cosine", "start_lr": 1e-2, "stop_lr": 1e-5},
    "loss": {"start_pref_e": 0.02, "limit_pref_e": 10, "start_pref_f": 1000, "limit_pref_f": 100},
    "training": {"numb_steps": 10000, "training_data": {"batch_size": "auto:128"}}})";
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
  throw Error("this is only possible for models with descriptor power_spectrum" +
              (descriptor ? "; this one has " + descriptor->type() : std::string()));
}

}  // namespace dptrain
