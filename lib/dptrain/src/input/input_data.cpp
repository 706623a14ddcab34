#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "input/input_sections.h"

namespace dptrain {

namespace {

using nlohmann::json;

/// Whole text as an integer of at least `least`, else -1.
std::int64_t to_integer(const std::string &text, std::int64_t least)
{
  const bool digits =
      !text.empty() && text.size() <= 9 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::int64_t number = digits ? std::atoll(text.c_str()) : -1;
  return number >= least ? number : -1;
}

/// A text or a list of texts.
std::vector<std::string> read_systems(JsonReader &reader, const std::string &key)
{
  const json *value = reader.find(key);
  if (value->is_string()) return {value->get<std::string>()};
  const auto is_text = [](const json &item) { return item.is_string(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text))
    reader.expected(key, "a text in quotes or a list of them");
  return value->get<std::vector<std::string>>();
}

constexpr const char *batch_sizes =
    "a positive integer, a list of them (one for each system), or \"auto\", \"auto:N\", \"max:N\", "
    "\"filter:N\" or \"mixed:N\" with a positive integer N";

BatchSize batch_size_of_text(const JsonReader &reader, const std::string &key,
                             const std::string &text)
{
  BatchSize size;
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (text == "auto") return size;
  if (name == "mix")
    reader.fail(key, fmt::format("\"{}\" is for LMDB data, which this version does not read; use "
                                 "\"mixed:N\" for N frames of all systems",
                                 text));
  if (name == "auto")
    size.rule = BatchSize::Rule::at_least;
  else if (name == "max")
    size.rule = BatchSize::Rule::at_most;
  else if (name == "filter")
    size.rule = BatchSize::Rule::filter;
  else if (name == "mixed")
    size.rule = BatchSize::Rule::mixed;
  else
    reader.expected(key, batch_sizes);
  size.number = colon == std::string::npos ? -1 : to_integer(text.substr(colon + 1), 1);
  if (size.number < 0) reader.expected(key, batch_sizes);
  return size;
}

void read_batch_size(JsonReader &reader, const std::string &key, DataConfig &data)
{
  BatchSize &size = data.batch_size = {};
  const json *value = reader.find(key);
  if (value->is_string()) {
    size = batch_size_of_text(reader, key, value->get<std::string>());
    return;
  }
  if (value->is_array()) {
    size.rule = BatchSize::Rule::per_system;
    size.list = reader.integers(key, {});
    if (size.list.empty() || *std::min_element(size.list.begin(), size.list.end()) < 1)
      reader.expected(key, batch_sizes);
    return;
  }
  if (!value->is_number()) reader.expected(key, batch_sizes);
  size.rule = BatchSize::Rule::fixed;
  size.number = reader.integer(key, 1, 1, INT32_MAX);
}

OrderedJson written_batch_size(const DataConfig &data)
{
  const BatchSize &size = data.batch_size;
  const std::string number = std::to_string(size.number);
  switch (size.rule) {
  case BatchSize::Rule::fixed:
    return size.number;
  case BatchSize::Rule::per_system:
    return size.list;
  case BatchSize::Rule::at_least:
    return "auto:" + number;
  case BatchSize::Rule::at_most:
    return "max:" + number;
  case BatchSize::Rule::filter:
    return "filter:" + number;
  case BatchSize::Rule::mixed:
    break;
  }
  return "mixed:" + number;
}

/// Part of `text` before the next `separator`; removes both.
std::string next_part(std::string &text, char separator)
{
  const auto end = text.find(separator);
  const std::string part = text.substr(0, end);
  text = end == std::string::npos ? "" : text.substr(end + 1);
  return part;
}

/// begin:end:weight
bool is_block(std::string text)
{
  const std::int64_t begin = to_integer(next_part(text, ':'), 0);
  const std::int64_t end = to_integer(next_part(text, ':'), 1);
  char *rest = nullptr;
  const double weight = std::strtod(text.c_str(), &rest);
  return begin >= 0 && end > begin && !text.empty() && *rest == '\0' && weight >= 0.0;
}

std::string read_auto_prob(JsonReader &reader, const std::string &key)
{
  std::string text = reader.text(key, "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (text == "prob_uniform") return text;
  std::string blocks = text;
  bool good = next_part(blocks, ';') == "prob_sys_size" && text.back() != ';';
  while (good && !blocks.empty()) good = is_block(next_part(blocks, ';'));
  if (!good)
    reader.expected(key,
                    "\"prob_sys_size\", \"prob_uniform\" or \"prob_sys_size;BEGIN:END:WEIGHT;...\" "
                    "(systems BEGIN to END-1, counted from 0, have WEIGHT together)");
  return text;
}

std::vector<double> read_probabilities(JsonReader &reader, const std::string &key)
{
  const std::vector<double> weights = reader.numbers(key);
  const auto is_zero = [](double weight) { return weight == 0.0; };
  if (!weights.empty() && std::all_of(weights.begin(), weights.end(), is_zero))
    reader.expected(key, "at least one number that is not 0");
  return weights;
}

}  // namespace

const Keys<DataConfig> &data_keys()
{
  using K = Key<DataConfig>;
  using C = DataConfig;
  static const Keys<C> keys{
      K("systems", &C::systems, read_systems),
      K("batch_size", read_batch_size, written_batch_size),
      K("auto_prob", &C::auto_prob, read_auto_prob).or_named({"auto_prob_style"}),
      K("rglob_patterns", &C::rglob_patterns).if_changed(),
      K("sys_probs", &C::sys_probs, read_probabilities)
          .or_named({"sys_weights", "sys_prob"})
          .if_changed(),
      // no key of DeePMD-kit since version 3, which has this default only
      K("set_prefix", &C::set_prefix, Filled{"the beginning of a folder's name"}).if_changed(),
  };
  return keys;
}

const Keys<DataConfig> &training_data_keys()
{
  static const Keys<DataConfig> keys{
      Key<DataConfig>("min_pair_dist", &DataConfig::min_pair_dist, not_negative),
  };
  return keys;
}

const Keys<DataConfig> &validation_data_keys()
{
  static const Keys<DataConfig> keys{
      Key<DataConfig>("numb_btch", &DataConfig::numb_btch, at_least_1).or_named({"numb_batch"}),
  };
  return keys;
}

}  // namespace dptrain
