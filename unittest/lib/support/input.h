#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "dptrain/input/config.h"
#include "scratch.h"

namespace dptrain::test {

using nlohmann::json;

/// The shortest input that is read.
inline const char *const smallest = R"({
  "_comment": "not read",
  "model": {
    "type_map": ["O", "H"],
    "_note": 1,
    "descriptor": {"type": "se_e2_a", "_note": "dropped"},
    "fitting_net": {}
  }
})";

inline InputFile read(const json &document)
{
  return read_input_text(document.dump(2), "input.json");
}

/// The smallest input with one value changed.
inline json with(const std::string &place, const json &value)
{
  json document = json::parse(smallest);
  document[json::json_pointer(place)] = value;
  return document;
}

/// Message for the smallest input with one value changed; it must name the place of the key: file, line, column, path.
inline std::string message_with(const std::string &place, const json &value)
{
  const json document = with(place, value);
  const std::string text = message_of([&] { read(document); });
  const std::string key = place.substr(place.rfind('/') + 1), written = document.dump(2);
  // "input.json:LINE:COLUMN: path: ..." points to the key in quotes
  std::size_t line = 0, column = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "input.json:%zu:%zu:", &line, &column), 2) << text;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < line; ++i) begin = written.find('\n', begin) + 1;
  EXPECT_EQ(written.substr(begin + column - 1, key.size() + 2), '"' + key + '"') << text;
  expect_in(": " + place.substr(1), text);
  return text;
}

}  // namespace dptrain::test
