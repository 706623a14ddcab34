#include "input/baseline_keys.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace dptrain {

using nlohmann::json;

namespace {

const char *const key_name = "baseline";

std::map<std::string, double> read_charges(JsonReader &reader, const std::string &key)
{
  std::map<std::string, double> charges;
  const json *value = reader.find(key);
  if (!value->is_object())
    reader.expected(
        key, "an object with a number for each element, such as {\"Na\": 1.0, \"Cl\": -1.0}");
  for (const auto &[element, charge] : value->items()) {
    if (!charge.is_number()) reader.expected(key, fmt::format("a number for {}", element));
    charges[element] = charge.get<double>();
  }
  return charges;
}

/// A list of texts, or one text.
std::vector<std::string> read_lines(JsonReader &reader, const std::string &key)
{
  if (reader.find(key)->is_string()) return {reader.text(key, "")};
  return reader.texts(key);
}

}  // namespace

const Keys<Baseline> &baseline_keys()
{
  using K = Key<Baseline>;
  using B = Baseline;
  static const Keys<Baseline> keys{
      K("pair_style", &B::pair_style, Filled{"the arguments of a pair_style command"}),
      K("pair_coeff", &B::pair_coeff, read_lines),
      K("pair_modify", &B::pair_modify, read_lines).if_changed(),
      K("kspace_style", &B::kspace_style, Filled{"the arguments of a kspace_style command"})
          .if_changed(),
      K("kspace_modify", &B::kspace_modify, read_lines).if_changed(),
      K("units", &B::units, Choice{"metal", "real", "electron", "si", "cgs", "micro", "nano"}),
      K("elements", &B::elements),
      K("charges", &B::charges, read_charges).if_changed(),
  };
  return keys;
}

std::vector<Baseline> read_baseline(JsonReader &model, const std::string &key)
{
  std::vector<Baseline> baseline;
  for (JsonReader &reader :
       model.objects(key,
                     "a list of force fields, such as [{\"pair_style\": \"zbl 1.0 2.0\", "
                     "\"pair_coeff\": [\"* * 14 14\"]}]",
                     "an object with pair_style and pair_coeff in each place of the list")) {
    Baseline one;
    baseline_keys().read(reader, one);
    reader.finish();
    for (const char *needed : {"pair_style", "pair_coeff"})
      if (!reader.has(needed))
        reader.fail(needed, "is missing: give the arguments of the LAMMPS command of this name");
    if (one.kspace_style.empty() && !one.kspace_modify.empty())
      reader.fail("kspace_modify", "needs kspace_style");
    baseline.push_back(std::move(one));
  }
  return baseline;
}

OrderedJson written_baseline(const std::vector<Baseline> &baseline)
{
  if (baseline.empty()) return {};
  OrderedJson list = OrderedJson::array();
  for (const Baseline &one : baseline) {
    OrderedJson item = OrderedJson::object();
    baseline_keys().write(one, item);
    list.push_back(std::move(item));
  }
  return list;
}

void check_baseline(JsonReader &model, ModelConfig &config)
{
  const auto &types = config.type_map;
  const auto check = [&](const std::string &element, const std::string &what) {
    if (std::find(types.begin(), types.end(), element) == types.end())
      model.fail(key_name, fmt::format("{} {}, which is none of type_map: use {}", what, element,
                                       joined(types)));
  };
  for (Baseline &one : config.baseline) {
    if (one.elements.empty()) one.elements = types;
    for (const std::string &element : one.elements) check(element, "elements names");
    for (const auto &[element, charge] : one.charges) check(element, "charges names");
    for (const std::string &element : types) {
      if (std::find(one.elements.begin(), one.elements.end(), element) == one.elements.end())
        model.fail(key_name, fmt::format("elements, the list of what the atom types of {} are, has "
                                         "no {}: name all elements of type_map",
                                         one.pair_style, element));
      if (!one.charges.empty() && !one.charges.count(element))
        model.fail(key_name,
                   fmt::format("charges has no number for {}: name all elements", element));
    }
  }
}

std::string text_of(const std::vector<Baseline> &baseline)
{
  return written_baseline(baseline).dump();
}

std::string name_of(const std::vector<Baseline> &baseline)
{
  std::string names;
  for (const Baseline &one : baseline)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", one.pair_style,
                         one.kspace_style.empty() ? "" : " with " + one.kspace_style);
  return names;
}

}  // namespace dptrain
