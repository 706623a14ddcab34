#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <string_view>

#include "input/input_sections.h"

namespace dptrain {

namespace {

constexpr std::pair<const char *, OptimizerType> optimizers[] = {
    {"Adam", OptimizerType::adam}, {"AdamW", OptimizerType::adamw}, {"SOAP", OptimizerType::soap}};

OptimizerType read_type(JsonReader &reader, const std::string &key)
{
  const std::string type = reader.text(key, "");
  const auto *found = std::find_if(std::begin(optimizers), std::end(optimizers),
                                   [&](const auto &entry) { return type == entry.first; });
  if (found != std::end(optimizers)) return found->second;
  reader.fail(key, fmt::format("optimizer \"{}\" is not in this version; use \"Adam\", \"AdamW\" "
                               "or \"SOAP\" (the fastest here)",
                               type));
}

/// Keys that the section `optimizer` and, in older files, `training` have.
void read_common_keys(JsonReader &reader, const std::string &type_key, InputFile &input)
{
  OptimizerConfig &optimizer = input.training.optimizer;
  for (const char *key : {type_key.c_str(), "adam_beta1", "adam_beta2", "weight_decay"})
    input.optimizer_given = input.optimizer_given || reader.has(key);
  if (reader.has(type_key)) optimizer.type = read_type(reader, type_key);
  const auto momentum = [&](const char *key, std::optional<double> &value) {
    if (!reader.has(key)) return;
    value = reader.optional_number(key);
    if (!(*value >= 0.0 && *value < 1.0)) reader.expected(key, "a number from 0 to below 1");
  };
  momentum("adam_beta1", optimizer.beta1);
  momentum("adam_beta2", optimizer.beta2);
  if (reader.has("weight_decay")) optimizer.weight_decay = reader.not_negative("weight_decay", 0.0);
  for (const char *key :
       {"kf_blocksize", "kf_start_pref_e", "kf_limit_pref_e", "kf_start_pref_f", "kf_limit_pref_f"})
    reader.only(key, nullptr, "the optimizer LKF");
  for (const char *key :
       {"momentum", "muon_momentum", "lr_adjust", "lr_adjust_coeff", "muon_2d_only", "min_2d_dim"})
    reader.only(key, nullptr, "the optimizers of the Muon family");
}

/// Keys that only SOAP has.
void read_soap(JsonReader &reader, OptimizerConfig &optimizer)
{
  optimizer.epsilon = reader.positive("epsilon", optimizer.epsilon);
  const auto integer = [&](const char *key, int &value) {
    value = static_cast<int>(reader.integer(key, value, 1, INT32_MAX));
  };
  integer("precondition_frequency", optimizer.precondition_frequency);
  integer("max_precondition_dim", optimizer.max_precondition_dim);
}

}  // namespace

std::string name_of(OptimizerType type)
{
  return std::find_if(std::begin(optimizers), std::end(optimizers),
                      [=](const auto &entry) { return entry.second == type; })
      ->first;
}

OptimizerType optimizer_named(const std::string &name)
{
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  for (const auto &[known, type] : optimizers) {
    const std::string_view other = known;
    if (std::equal(name.begin(), name.end(), other.begin(), other.end(), same)) return type;
  }
  throw Error(fmt::format("optimizer {} is not possible: use adam, adamw or soap", name));
}

void read_optimizer_section(JsonReader reader, JsonReader &training, InputFile &input)
{
  OptimizerConfig &optimizer = input.training.optimizer;
  read_common_keys(reader, "type", input);
  read_common_keys(training, "opt_type", input);
  if (reader.has("precision"))
    optimizer.precision = reader.choice("precision", "", {"float64", "float32"});
  if (optimizer.type == OptimizerType::soap)
    read_soap(reader, optimizer);
  else
    for (const char *key : {"epsilon", "precondition_frequency", "max_precondition_dim"})
      if (reader.has(key))
        reader.fail(key, "belongs to optimizer \"SOAP\"; remove it, or choose that one");
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
