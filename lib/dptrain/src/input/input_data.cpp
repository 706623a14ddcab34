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
std::vector<std::string> read_systems(JsonReader &reader)
{
  const json *value = reader.find("systems");
  if (!value) return {};
  if (value->is_string()) return {value->get<std::string>()};
  const auto is_text = [](const json &item) { return item.is_string(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text))
    reader.expected("systems", "a text in quotes or a list of them");
  return value->get<std::vector<std::string>>();
}

constexpr const char *batch_sizes =
    "a positive integer, a list of them (one for each system), or \"auto\", \"auto:N\", \"max:N\", "
    "\"filter:N\" or \"mixed:N\" with a positive integer N";

BatchSize batch_size_of_text(const JsonReader &reader, const std::string &text)
{
  BatchSize size;
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (text == "auto") return size;
  if (name == "mix")
    reader.fail("batch_size", fmt::format("\"{}\" is for LMDB data, which this version does not "
                                          "read; use \"mixed:N\" for N frames of all systems",
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
    reader.expected("batch_size", batch_sizes);
  size.number = colon == std::string::npos ? -1 : to_integer(text.substr(colon + 1), 1);
  if (size.number < 0) reader.expected("batch_size", batch_sizes);
  return size;
}

BatchSize read_batch_size(JsonReader &reader, const BatchSize &otherwise)
{
  BatchSize size;
  const json *value = reader.find("batch_size");
  if (!value) return otherwise;
  if (value->is_string()) return batch_size_of_text(reader, value->get<std::string>());
  if (value->is_array()) {
    size.rule = BatchSize::Rule::per_system;
    size.list = reader.integers("batch_size", {});
    if (size.list.empty() || *std::min_element(size.list.begin(), size.list.end()) < 1)
      reader.expected("batch_size", batch_sizes);
    return size;
  }
  if (!value->is_number()) reader.expected("batch_size", batch_sizes);
  size.rule = BatchSize::Rule::fixed;
  size.number = reader.integer("batch_size", 1, 1, INT32_MAX);
  return size;
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

std::string read_auto_prob(JsonReader &reader)
{
  const std::string key = reader.either("auto_prob", {"auto_prob_style"});
  std::string text = reader.text(key, DataConfig().auto_prob);
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

std::vector<double> read_probabilities(JsonReader &reader)
{
  const std::string key = reader.either("sys_probs", {"sys_weights", "sys_prob"});
  const std::vector<double> weights = reader.numbers(key);
  const auto is_zero = [](double weight) { return weight == 0.0; };
  if (!weights.empty() && std::all_of(weights.begin(), weights.end(), is_zero))
    reader.expected(key, "at least one number that is not 0");
  return weights;
}

}  // namespace

void read_data_keys(JsonReader &reader, DataConfig &data)
{
  data.systems = read_systems(reader);
  data.rglob_patterns = reader.texts("rglob_patterns");
  data.set_prefix = reader.text("set_prefix", data.set_prefix);
  if (data.set_prefix.empty()) reader.expected("set_prefix", "the beginning of a folder's name");
  data.batch_size = read_batch_size(reader, data.batch_size);
  data.auto_prob = read_auto_prob(reader);
  data.sys_probs = read_probabilities(reader);
}

}  // namespace dptrain
