// The manual's tables of the keys of input.json name the keys that there are, all their names and their defaults.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "dptrain/input/config.h"
#include "input/input_sections.h"

namespace dptrain::test {

namespace {

/// Rows of the tables below each heading of the page: first, second and third cell.
std::map<std::string, std::vector<std::vector<std::string>>> tables_of_manual()
{
  std::map<std::string, std::vector<std::vector<std::string>>> tables;
  std::ifstream file(std::string(DPTRAIN_TEST_DATA) + "/../../doc/src/dptrain_input.rst");
  std::string line, before, section;
  while (std::getline(file, line)) {
    auto &rows = tables[section];
    if (!line.empty() && line.find_first_not_of(line[0] == '^' ? "^" : "-") == std::string::npos)
      section = before;
    else if (line.rfind("   * - ", 0) == 0)
      rows.push_back({line.substr(7)});
    else if (line.rfind("     -", 0) == 0 && !rows.empty())
      rows.back().push_back(line.size() > 7 ? line.substr(7) : "");
    else if (line.rfind("       ", 0) == 0 && !rows.empty())
      rows.back().back() += " " + line.substr(7);
    before = line;
  }
  return tables;
}

bool has_word(const std::string &text, const std::string &word)
{
  return std::regex_search(text, std::regex("(^|[^a-z_0-9])" + word + "($|[^a-z_0-9])"));
}

}  // namespace

TEST(InputKeys, StandInTheManualWithAllNames)
{
  const auto tables = tables_of_manual();
  std::size_t count = 0;
  for (const auto &[section, rows] : input_keys()) {
    ASSERT_EQ(tables.count(section), 1u) << section;
    for (const KeyRow &key : rows) {
      ++count;
      const std::vector<std::string> *found = nullptr;
      for (const auto &row : tables.at(section))
        if (has_word(row[0], key.names[0])) found = &row;
      ASSERT_TRUE(found) << section << "/" << key.names[0];
      ASSERT_EQ(found->size(), 3u) << section << "/" << key.names[0];
      for (std::size_t k = 1; k < key.names.size(); ++k)
        EXPECT_TRUE(has_word((*found)[2], key.names[k])) << section << "/" << key.names[k];
      // numbers and switches
      if (key.value.is_boolean() || (key.value.is_number() && found->at(1).find("from") != 0)) {
        const bool is_ratio =
            key.names[0] == "rcut_smth" && section.find("power") != std::string::npos;
        const std::regex number("[0-9.]+(e-?[0-9]+)?|true|false");
        bool same = is_ratio;
        for (std::sregex_iterator k((*found)[1].begin(), (*found)[1].end(), number), end; k != end;
             ++k)
          same = same || nlohmann::json::parse(k->str(), nullptr, false) == key.value;
        EXPECT_TRUE(same) << section << "/" << key.names[0] << ": " << key.value << ", the manual "
                          << (*found)[1];
      }
    }
  }
  EXPECT_GT(count, 90u);
}

}  // namespace dptrain::test
