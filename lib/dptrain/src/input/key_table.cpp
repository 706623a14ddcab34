#include "input/key_table.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dptrain {

void refuse_kind(const JsonReader &reader, const std::string &key, const char *what,
                 const std::string &found, const std::vector<std::string> &known, const char *hint)
{
  reader.fail(key, fmt::format("{} \"{}\" is not in this version; use {}{}", what, found,
                               alternatives(known, "\""), hint));
}

double read_number(JsonReader &reader, const std::string &key, const Range &range)
{
  const double value = reader.number(key, 0.0);
  if (!range.has(value)) reader.expected(key, range.words(range.noun));
  return value;
}

std::int64_t read_integer(JsonReader &reader, const std::string &key, const Range &range,
                          std::int64_t least, std::int64_t most)
{
  const std::int64_t value = reader.integer(key, 0, INT64_MIN, most);
  if (!range.has(static_cast<double>(value))) reader.expected(key, range.words("integer"));
  return reader.integer(key, 0, least, most);
}

std::string read_value(As<std::string>, JsonReader &reader, const std::string &key, Filled text)
{
  const std::string found = reader.text(key, "");
  if (found.empty()) reader.expected(key, text.what);
  return found;
}

std::string read_value(As<std::string>, JsonReader &reader, const std::string &key,
                       const Choice &choice)
{
  return reader.choice(key, "", choice);
}

void read_foreign(JsonReader &reader, const std::vector<ForeignKey> &keys,
                  std::vector<std::string> &ignored)
{
  for (const auto &[name, neutral, feature] : keys) {
    if (!feature.empty()) {
      reader.only(name, neutral, feature);
      continue;
    }
    const nlohmann::json *found = reader.find(name);
    if (found && *found != neutral) ignored.push_back(reader.path(name));
  }
}

}  // namespace dptrain
