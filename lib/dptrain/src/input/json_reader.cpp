#include "input/json_reader.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/nearest_name.h"
#include "base/text.h"

namespace dptrain {

using nlohmann::json;

namespace {

const json empty_object = json::object();

/// Short text of a value for a message.
std::string show(const json &value)
{
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  if (value.is_array()) return fmt::format("{} (a list)", text);
  if (value.is_string()) return fmt::format("{} (a text)", text);
  if (value.is_boolean()) return text + " (true/false)";
  if (value.is_number()) return fmt::format("{} (a number)", text);
  return text;
}

bool integral(const json &value)
{
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::abs(number) < 9e15 && number == std::floor(number);
}

std::int64_t to_integer(const json &value)
{
  if (value.is_number_float()) return static_cast<std::int64_t>(value.get<double>());
  return value.get<std::int64_t>();
}

/// Integer that fits an int.
bool small_integer(const json &value)
{
  if (!integral(value)) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT32_MAX) return false;
  const std::int64_t number = to_integer(value);
  return number >= INT32_MIN && number <= INT32_MAX;
}

}  // namespace

JsonReader::JsonReader(const json &object, std::string file, std::string path,
                       const JsonDocument *document) :
    object_(&object), file_(std::move(file)), path_(std::move(path)), document_(document)
{
  if (!object.is_object())
    throw Error(fmt::format("{}: {}: expected an object {{ ... }}, found {}",
                            document_ ? document_->where(path_) : file_,
                            path_.empty() ? "top level" : path_, show(object)));
}

JsonReader::JsonReader(const json &object, std::string file, std::string path) :
    JsonReader(object, std::move(file), std::move(path), nullptr)
{
}

JsonReader::JsonReader(const JsonDocument &document) :
    JsonReader(document.root(), document.source(), "", &document)
{
}

const json *JsonReader::find(const std::string &key)
{
  known_.insert(key);
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::string JsonReader::either(const std::string &key, const std::vector<std::string> &aliases)
{
  std::string used;
  if (has(key)) used = key;
  for (const auto &alias : aliases) {
    if (!has(alias)) continue;
    if (!used.empty())
      fail(alias, fmt::format("given beside its other name \"{}\"; keep one", used));
    used = alias;
  }
  return used.empty() ? key : used;
}

double JsonReader::number(const std::string &key, double fallback)
{
  const json *value = find(key);
  if (!value) return fallback;
  if (!value->is_number()) expected(key, "a number");
  return value->get<double>();
}

std::int64_t JsonReader::integer(const std::string &key, std::int64_t fallback, std::int64_t least,
                                 std::int64_t most)
{
  const json *value = find(key);
  if (!value) return fallback;
  if (!integral(*value)) expected(key, "an integer");
  const bool too_large =
      value->is_number_unsigned() &&
      value->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = too_large ? 0 : to_integer(*value);
  if (too_large || number > most) expected(key, fmt::format("an integer not above {}", most));
  if (number < least) expected(key, fmt::format("an integer not below {}", least));
  return number;
}

bool JsonReader::boolean(const std::string &key, bool fallback)
{
  const json *value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) expected(key, "true or false");
  return value->get<bool>();
}

std::string JsonReader::text(const std::string &key, const std::string &fallback)
{
  const json *value = find(key);
  if (!value) return fallback;
  if (!value->is_string()) expected(key, "a text in quotes");
  return value->get<std::string>();
}

std::string JsonReader::choice(const std::string &key, const std::string &fallback,
                               const std::vector<std::string> &allowed)
{
  const std::string found = text(key, fallback);
  if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) return found;
  expected(key, alternatives(allowed, "\""));
}

std::vector<int> JsonReader::integers(const std::string &key, const std::vector<int> &fallback)
{
  const json *value = find(key);
  if (!value) return fallback;
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), small_integer))
    expected(key, "a list of integers");
  std::vector<int> numbers;
  for (const auto &item : *value) numbers.push_back(static_cast<int>(to_integer(item)));
  return numbers;
}

std::vector<double> JsonReader::numbers(const std::string &key)
{
  const json *value = find(key);
  if (!value) return {};
  const auto is_number = [](const json &item) { return item.is_number(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_number))
    expected(key, "a list of numbers");
  return value->get<std::vector<double>>();
}

std::vector<std::string> JsonReader::texts(const std::string &key)
{
  const json *value = find(key);
  if (!value) return {};
  const auto is_text = [](const json &item) { return item.is_string(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text))
    expected(key, "a list of texts in quotes");
  return value->get<std::vector<std::string>>();
}

std::vector<std::string> JsonReader::keys() const
{
  std::vector<std::string> all;
  for (const auto &[key, value] : object_->items()) all.push_back(key);
  return all;
}

JsonReader JsonReader::section(const std::string &key)
{
  const json *value = find(key);
  return JsonReader(value ? *value : empty_object, file_, path(key), document_);
}

std::vector<JsonReader> JsonReader::objects(const std::string &key, const std::string &list,
                                            const std::string &object)
{
  const json *value = find(key);
  if (!value->is_array()) expected(key, list);
  std::vector<JsonReader> readers;
  for (const json &item : *value) {
    if (!item.is_object()) expected(key, object);
    readers.emplace_back(item, file_, fmt::format("{}/{}", path(key), readers.size()));
  }
  return readers;
}

void JsonReader::accept(const std::vector<std::string> &keys)
{
  known_.insert(keys.begin(), keys.end());
}

void JsonReader::only(const std::string &key, const json &neutral, const std::string &feature)
{
  const json *value = find(key);
  if (!value || *value == neutral) return;
  fail(key, fmt::format("found {}, but this version does not have {}{}", show(*value), feature,
                        neutral.is_null()
                            ? "; remove the key"
                            : fmt::format("; remove the key or set it to {}", neutral.dump())));
}

void JsonReader::finish() const
{
  for (const auto &[key, value] : object_->items()) {
    if (known_.count(key) || (!key.empty() && key[0] == '_')) continue;
    const std::string nearest = nearest_name(key, known_);
    fail(key, fmt::format("unknown key{} (remove it, or let it start with _ as a comment)",
                          nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  }
}

std::string JsonReader::path(const std::string &key) const
{
  return path_.empty() ? key : path_ + "/" + key;
}

void JsonReader::fail(const std::string &key, const std::string &message) const
{
  throw Error((document_ ? document_->where(path(key)) : file_) + ": " + path(key) + ": " +
              message);
}

void JsonReader::expected(const std::string &key, const std::string &what) const
{
  const auto found = object_->find(key);
  fail(key, fmt::format("expected {}{}", what,
                        found == object_->end() ? ", but the key is missing"
                                                : fmt::format(", found {}", show(*found))));
}

}  // namespace dptrain
