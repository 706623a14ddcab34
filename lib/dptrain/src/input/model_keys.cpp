#include "input/model_keys.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "base/text.h"
#include "input/baseline_keys.h"
#include "input/term_keys.h"

namespace dptrain {

using nlohmann::json;

namespace {

const std::vector<std::string> activations{"tanh",    "relu",        "relu6",    "gelu",
                                           "gelu_tf", "sigmoid",     "softplus", "silu",
                                           "silut",   "custom_silu", "none",     "linear"};

void check_type(const JsonReader &reader, const std::string &key, int type, int ntypes)
{
  if (type < 0 || type >= ntypes)
    reader.fail(key, fmt::format("found type {}, allowed are those of type_map, 0 to {}", type,
                                 ntypes - 1));
}

std::string read_precision(JsonReader &reader, const std::string &key)
{
  const std::string name = reader.text(key, "");
  if (name == "default" || name == "float64" || name == "double") return "float64";
  if (name == "float32" || name == "single") return "float32";
  reader.fail(
      key,
      fmt::format("found \"{}\", allowed are float64 (= default = double) and float32 (= single)",
                  name));
}

/// "auto" leaves it to the structure.
void read_cutoff(JsonReader &section, const std::string &key, ModelConfig &config)
{
  const json *value = section.find(key);
  if (value->is_string() && value->get<std::string>() == "auto") {
    config.cutoff_source = CutoffSource::open;
    return;
  }
  config.rcut = read_number(section, key, positive_length);
  config.cutoff_source = CutoffSource::input;
}

OrderedJson written_cutoff(const ModelConfig &config)
{
  if (config.cutoff_source == CutoffSource::open) return "auto";
  return config.rcut;
}

void read_atom_ener(JsonReader &fitting, const std::string &key, ModelConfig &config)
{
  const json *value = fitting.find(key);
  const auto allowed = [](const json &item) { return item.is_number() || item.is_null(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), allowed) ||
      (!value->empty() && static_cast<int>(value->size()) != config.ntypes()))
    fitting.expected(key,
                     fmt::format("an empty list, or {} numbers (or null), one per type of type_map",
                                 config.ntypes()));
  config.atom_ener.clear();
  for (const auto &item : *value)
    config.atom_ener.push_back(item.is_null() ? std::nullopt
                                              : std::optional<double>(item.get<double>()));
}

OrderedJson written_atom_ener(const ModelConfig &config)
{
  OrderedJson value = OrderedJson::array();
  for (const auto &energy : config.atom_ener)
    value.push_back(energy ? OrderedJson(*energy) : OrderedJson());
  return value;
}

/// true, false or one flag per layer; all true is stored as an empty list.
void read_trainable(JsonReader &fitting, const std::string &key, ModelConfig &config)
{
  const json *value = fitting.find(key);
  const std::size_t layers = config.fitting_neuron.size() + 1;
  const auto is_flag = [](const json &item) { return item.is_boolean(); };
  if (value->is_boolean())
    config.fitting_trainable.assign(layers, value->get<bool>());
  else if (value->is_array() && value->size() == layers &&
           std::all_of(value->begin(), value->end(), is_flag))
    config.fitting_trainable = value->get<std::vector<bool>>();
  else
    fitting.expected(
        key,
        fmt::format(
            "true, false or a list of {} of them (one per hidden layer and one for the output)",
            layers));
  const auto &flags = config.fitting_trainable;
  if (std::find(flags.begin(), flags.end(), false) == flags.end()) config.fitting_trainable.clear();
}

OrderedJson written_trainable(const ModelConfig &config)
{
  const auto &flags = config.fitting_trainable;
  if (std::find(flags.begin(), flags.end(), true) != flags.end()) return flags;
  return flags.empty();
}

}  // namespace

const Keys<ModelConfig> &model_keys()
{
  using K = Key<ModelConfig>;
  using C = ModelConfig;
  static const Keys<C> keys{
      fixed_key<C>("model type", {"standard"}),
      K("type_map", &C::type_map),
      K("pair_exclude_types", &C::pair_exclude_types, read_pairs),
      K("atom_exclude_types", &C::atom_exclude_types),
      K("baseline", K::Read([](JsonReader &model, const std::string &key, C &config) {
          config.baseline = read_baseline(model, key);
        }),
        K::Write([](const C &config) { return written_baseline(config.baseline); })),
      K("terms", K::Read([](JsonReader &model, const std::string &key, C &config) {
          config.terms = read_terms(model, key, config);
        }),
        K::Write([](const C &config) { return written_terms(config.terms); })),
  };
  return keys;
}

const Keys<ModelConfig> &cutoff_keys()
{
  static const Keys<ModelConfig> keys{
      Key<ModelConfig>("rcut", read_cutoff, written_cutoff),
  };
  return keys;
}

const Keys<DescriptorConfig> &common_descriptor_keys()
{
  using K = Key<DescriptorConfig>;
  using C = DescriptorConfig;
  static const Keys<C> keys{
      K("precision", &C::precision, read_precision),
      K("trainable", &C::trainable),
      K("seed", &C::seed, not_negative),
  };
  return keys;
}

const Keys<ModelConfig> &fitting_keys()
{
  using K = Key<ModelConfig>;
  using C = ModelConfig;
  static const Keys<C> keys{
      fixed_key<C>("fitting net", {"ener"}),
      K("neuron", &C::fitting_neuron, read_widths).or_named({"n_neuron"}),
      K("activation_function", &C::fitting_activation, read_activation),
      K("resnet_dt", &C::fitting_resnet_dt),
      K("precision", &C::fitting_precision, read_precision),
      K("trainable", read_trainable, written_trainable),
      K("atom_ener", read_atom_ener, written_atom_ener),
      K("seed", &C::fitting_seed, not_negative),
  };
  return keys;
}

std::vector<std::array<int, 2>> read_pairs(JsonReader &reader, const std::string &key)
{
  std::vector<std::array<int, 2>> pairs;
  const json *value = reader.find(key);
  const auto is_pair = [](const json &item) {
    return item.is_array() && item.size() == 2 && item[0].is_number_integer() &&
           item[1].is_number_integer();
  };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_pair))
    reader.expected(key, "a list of pairs of type indices, such as [[0, 1]]");
  for (const auto &item : *value) pairs.push_back({item[0].get<int>(), item[1].get<int>()});
  return pairs;
}

void check_types(const JsonReader &section, const std::string &key,
                 const std::vector<std::array<int, 2>> &pairs, int ntypes)
{
  for (const auto &pair : pairs)
    for (const int type : pair) check_type(section, key, type, ntypes);
}

std::vector<int> read_widths(JsonReader &reader, const std::string &key)
{
  const auto widths = reader.integers(key, {});
  if (widths.empty() || *std::min_element(widths.begin(), widths.end()) < 1)
    reader.expected(key, "a list of at least one positive integer");
  return widths;
}

bool is_number(const std::string &text, double &number)
{
  if (text.empty()) return false;
  char *end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return *end == '\0' && std::isfinite(number);
}

std::string read_activation(JsonReader &reader, const std::string &key)
{
  const std::string name = lower(reader.text(key, ""));
  const auto colon = name.find(':');
  const std::string base = name.substr(0, colon);
  bool known = std::find(activations.begin(), activations.end(), base) != activations.end();
  double threshold = 0.0;
  if (colon != std::string::npos)
    known =
        (base == "silut" || base == "custom_silu") && is_number(name.substr(colon + 1), threshold);
  if (!known)
    reader.expected(key, fmt::format("one of {} (silut:T and custom_silu:T with a number T)",
                                     joined(activations)));
  return name;
}

bool ModelConfig::has_term(const std::string &type) const
{
  return dptrain::has_term(terms, type);
}

double ModelConfig::cutoff() const
{
  double largest = rcut;
  for (const AnyEnergyTermConfig &term : terms) largest = std::max(largest, term->cutoff());
  return largest;
}

void choose_cutoff(ModelConfig &model, double rcut)
{
  model.rcut = rcut;
  model.cutoff_source = CutoffSource::structure;
  model.descriptor->follow_cutoff(rcut);
}

void choose_cutoff(ModelConfig &model, const ModelConfig &known)
{
  model.rcut = known.rcut;
  model.cutoff_source = CutoffSource::structure;
  model.descriptor->follow_model(known);
}

void DescriptorConfig::follow_model(const ModelConfig &model)
{
  follow_cutoff(model.rcut);
}

void check_switch(const JsonReader &section, double rcut_smth, double rcut)
{
  if (!(rcut_smth >= 0.0 && rcut_smth < rcut))
    section.fail(
        "rcut_smth",
        fmt::format("must be at least 0 and smaller than rcut; found rcut_smth = {}, rcut = {}",
                    json(rcut_smth).dump(), json(rcut).dump()));
}

void read_type_keys(JsonReader &model, ModelConfig &config)
{
  model_keys().read(model, config);
  if (config.type_map.empty())
    model.expected("type_map", "a list of at least one element name, such as [\"O\", \"H\"]");
  auto sorted = config.type_map;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    model.fail("type_map", fmt::format("names \"{}\" twice; name each element once", *twice));
  check_baseline(model, config);
  if (!config.terms.empty() && !config.atom_exclude_types.empty())
    model.fail("terms",
               "cannot be used with atom_exclude_types, whose atoms have no energy: their pairs "
               "would have half of it; remove one of the two");
  check_types(model, "pair_exclude_types", config.pair_exclude_types, config.ntypes());
  for (const int type : config.atom_exclude_types)
    check_type(model, "atom_exclude_types", type, config.ntypes());
}

void DescriptorConfig::read(JsonReader &section, ModelConfig &model)
{
  model.cutoff_source = chooses_cutoff() ? CutoffSource::open : CutoffSource::input;
  cutoff_keys().read(section, model);
  if (model.cutoff_source == CutoffSource::open && !chooses_cutoff())
    section.expected("rcut", "a number greater than 0: this descriptor does not choose a cutoff");
  if (model.cutoff_source == CutoffSource::open) model.rcut = longest_chosen_cutoff;
  table().read(section, *this);
  common_descriptor_keys().read(section, *this);
  complete(section, model);
}

std::string DescriptorConfig::keys(const ModelConfig &model) const
{
  OrderedJson section{{"type", type()}};
  cutoff_keys().write(model, section);
  table().write(*this, section);
  common_descriptor_keys().write(*this, section);
  return section.dump();
}

void read_descriptor_section(JsonReader &section, ModelConfig &config)
{
  if (!section.has("type"))
    section.expected("type", fmt::format("one of {}", descriptor_type_names()));
  const std::string type = section.text("type", "");
  config.descriptor = make_descriptor_config(type);
  if (!config.descriptor)
    section.fail("type", fmt::format("descriptor \"{}\" is not in this version; use one of {}",
                                     type, descriptor_type_names()));
  config.descriptor->read(section, config);
}

void read_fitting_keys(JsonReader &fitting, ModelConfig &config)
{
  fitting_keys().read(fitting, config);
  static const std::vector<ForeignKey> foreign{
      {"numb_fparam", 0, "frame parameters (fparam)"},
      {"numb_aparam", 0, "atomic parameters (aparam)"},
      {"dim_case_embd", 0, "case embeddings of multi-task models"},
      {"default_fparam", nullptr, "frame parameters (fparam)"},
      {"use_aparam_as_mask", false, "atomic parameters (aparam)"},
  };
  std::vector<std::string> none_ignored;
  read_foreign(fitting, foreign, none_ignored);
  const auto names = fitting.find("layer_name");
  const auto is_null = [](const json &item) { return item.is_null(); };
  if (names && !(names->is_array() && std::all_of(names->begin(), names->end(), is_null)))
    fitting.only("layer_name", nullptr, "layers shared by name");
}

OrderedJson written_model(const ModelConfig &config)
{
  OrderedJson model;
  model_keys().write(config, model);
  model["descriptor"] = OrderedJson::parse(config.descriptor->keys(config));
  fitting_keys().write(config, model["fitting_net"]);
  return model;
}

void read_model_keys(JsonReader &model, ModelConfig &config)
{
  read_type_keys(model, config);
  JsonReader descriptor = model.section("descriptor"), fitting = model.section("fitting_net");
  read_descriptor_section(descriptor, config);
  read_fitting_keys(fitting, config);
}

}  // namespace dptrain
