#include <algorithm>
#include <fmt/format.h>

#include "input/input_sections.h"

namespace dptrain {

namespace {

const Kinds<OptimizerType> optimizer_types{
    "optimizer",
    {{"Adam", OptimizerType::adam}, {"AdamW", OptimizerType::adamw}, {"SOAP", OptimizerType::soap}},
    " (the fastest here)"};

const std::vector<ForeignKey> foreign_optimizer_keys{
    {"kf_blocksize", nullptr, "the optimizer LKF"},
    {"kf_start_pref_e", nullptr, "the optimizer LKF"},
    {"kf_limit_pref_e", nullptr, "the optimizer LKF"},
    {"kf_start_pref_f", nullptr, "the optimizer LKF"},
    {"kf_limit_pref_f", nullptr, "the optimizer LKF"},
    {"momentum", nullptr, "the optimizers of the Muon family"},
    {"muon_momentum", nullptr, "the optimizers of the Muon family"},
    {"lr_adjust", nullptr, "the optimizers of the Muon family"},
    {"lr_adjust_coeff", nullptr, "the optimizers of the Muon family"},
    {"muon_2d_only", nullptr, "the optimizers of the Muon family"},
    {"min_2d_dim", nullptr, "the optimizers of the Muon family"},
};

bool is_soap(const OptimizerConfig &optimizer)
{
  return optimizer.type == OptimizerType::soap;
}

const char *const of_soap = "belongs to optimizer \"SOAP\"; remove it, or choose that one";

}  // namespace

const Keys<OptimizerConfig> &optimizer_keys()
{
  using K = Key<OptimizerConfig>;
  using C = OptimizerConfig;
  static const Keys<C> keys{
      K("type", &C::type, optimizer_types),
      K("adam_beta1", &C::beta1, zero_to_below_1),
      K("adam_beta2", &C::beta2, zero_to_below_1),
      K("weight_decay", &C::weight_decay, not_negative),
      K("precision", &C::precision, Choice{"float64", "float32"}),
      K("epsilon", &C::epsilon, positive).only(is_soap, of_soap),
      K("precondition_frequency", &C::precondition_frequency, at_least_1).only(is_soap, of_soap),
      K("max_precondition_dim", &C::max_precondition_dim, at_least_1).only(is_soap, of_soap),
  };
  return keys;
}

std::string name_of(OptimizerType type)
{
  return optimizer_types.name(type);
}

void read_optimizer_section(JsonReader reader, JsonReader &training, InputFile &input)
{
  OptimizerConfig &optimizer = input.training.optimizer;
  optimizer_keys().read_values(reader, optimizer);
  for (const char *key : {"type", "adam_beta1", "adam_beta2", "weight_decay"}) {
    const std::string in_training = std::string(key) == "type" ? "opt_type" : key;
    input.optimizer_given = input.optimizer_given || reader.has(key) || training.has(in_training);
    optimizer_keys().read_one(training, optimizer, key, in_training);
  }
  optimizer_keys().check(reader, optimizer);
  for (JsonReader *section : {&reader, &training})
    read_foreign(*section, foreign_optimizer_keys, input.ignored);
  // DeePMD-kit 3.2 documents 1e-3 but fills in 0 when it updates a file to the present layout, which it always does
  if (optimizer.type == OptimizerType::adamw && !optimizer.weight_decay)
    optimizer.weight_decay = 0.0;
  reader.finish();
}

OptimizerConfig complete(OptimizerConfig config)
{
  const bool soap = config.type == OptimizerType::soap;
  if (!config.beta1) config.beta1 = soap ? 0.95 : 0.9;
  if (!config.beta2) config.beta2 = soap ? 0.95 : 0.999;
  if (!config.weight_decay) config.weight_decay = config.type == OptimizerType::adamw ? 1e-3 : 0.0;
  if (!config.precision) config.precision = "float64";
  return config;
}

}  // namespace dptrain
