// run_statistics: lines, the JSON file, and what it refuses, on as many ranks as there are. Numbers of DeePMD-kit: those of
// unittest/reference/statistics.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "dptrain/commands/commands.h"
#include "dptrain/statistics/statistics.h"
#include "io/file.h"
#include "support/scratch.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

using Json = nlohmann::json;
const std::string ROOT = std::string(DPTRAIN_TEST_DATA) + "/statistics";

StatOptions options()
{
  StatOptions o;
  o.systems = {ROOT};
  o.rcut = 4.0;
  o.type_map = {"Al", "Cu", "Ni"};
  return o;
}

/// The lines on rank 0, one text.
std::string lines_of(const StatOptions &o)
{
  std::string text;
  run_statistics(world(), o, [&](const std::string &line) { text += line + "\n"; });
  return text;
}

bool is_root()
{
  return world()->rank() == 0;
}

}  // namespace

TEST(StatisticsCommand, LinesOfDpNeighborStat)
{
  const std::string text = lines_of(options());
  if (!is_root()) {
    EXPECT_EQ(text, "");
    return;
  }
  const Json expected = Json::parse(read_file(ROOT + "/expected.json")).at("neighbor_stat");
  EXPECT_EQ(expected.at("max_nbor_size"), (std::vector<int>{10, 10, 11}));
  expect_in("\nmin_nbor_dist: " + std::to_string(expected.at("min_nbor_dist").get<double>()) + "\n",
            text);
  expect_in("\nmax_nbor_size: [10 10 11]\n", text);
  expect_in("Statistics of 3 systems, 6 frames, 33 atoms", text);
  expect_in("in steps of 4): 12 12 12\n", text);
  for (const std::string name : {"all_types", "no_type1", "cluster"})
    expect_in(ROOT + "/" + name + " ", text);
}

TEST(StatisticsCommand, FileHasEverythingAndServesAsStatisticsFile)
{
  const Json reference = Json::parse(read_file(ROOT + "/expected.json")).at("variants").at("plain");
  const auto comm = world();
  const Scratch scratch;
  StatOptions o = options();
  o.output = scratch / "stat.json";
  o.sel = reference.at("model").at("descriptor").at("sel").get<std::vector<int>>();
  lines_of(o);
  if (!is_root()) return;
  const std::string text = read_file(o.output);
  const Json root = Json::parse(text);
  const Json &stat = reference.at("training_stat");
  for (int t = 0; t < 3; ++t) {
    // as in DeePMD-kit: sums in another order
    for (int c = 0; c < 4; ++c) {
      EXPECT_NEAR(root.at("davg")[t][c].get<double>(), stat.at("davg")[t][c].get<double>(), 1e-12);
      EXPECT_NEAR(root.at("dstd")[t][c].get<double>(), stat.at("dstd")[t][c].get<double>(), 1e-12);
    }
    EXPECT_NEAR(root.at("energy").at("bias")[t].get<double>(), stat.at("out_bias")[t].get<double>(),
                1e-11);
  }
  EXPECT_EQ(root.at("sel"), Json(o.sel));
  EXPECT_EQ(root.at("recommended_sel"), Json({12, 12, 12}));
  EXPECT_EQ(root.at("frames"), 6);
  EXPECT_EQ(root.at("energy").at("frames"), 6);
  ASSERT_EQ(root.at("systems").size(), 3u);
  std::int64_t atoms = 0;
  for (const Json &system : root.at("systems")) {
    atoms += system.at("atoms").get<std::int64_t>();
    const bool cluster = system.at("name") == ROOT + "/cluster";
    EXPECT_EQ(system.at("density").is_null(), cluster);
    EXPECT_EQ(system.at("pair").size(), 2u);
    EXPECT_GE(system.at("min_distance").get<double>(), root.at("min_distance").get<double>());
    EXPECT_LT(system.at("frame").get<int>(), system.at("frames").get<int>());
  }
  EXPECT_EQ(atoms, root.at("atoms").get<std::int64_t>());
  // a new model can be made from it, with its sel and, since nobody is cut off, with any larger one
  for (const auto &sel : {o.sel, std::vector<int>{}, std::vector<int>{12, 12, 12}}) {
    const Statistics again =
        Statistics::from_json(text, o.output, o.type_map, {4.0, 0.5, 0.0, sel, {}});
    EXPECT_EQ(again.max_neighbors(), (std::vector<int>{10, 10, 11}));
    EXPECT_EQ(again.davg(o.sel, false)[0], root.at("davg")[0][0].get<double>());
  }
}

TEST(StatisticsCommand, ElementsOfTheDataWithoutATypeMap)
{
  StatOptions o = options();
  o.type_map.clear();
  o.systems = {ROOT + "/cluster", ROOT + "/no_type1"};
  const std::string text = lines_of(o);
  if (is_root())
    for (const std::string name : {"\nAl ", "\nCu ", "\nNi "}) expect_in(name, text);
}

TEST(StatisticsCommand, AShortSelIsWarnedAbout)
{
  StatOptions o = options();
  o.sel = {10, 9, 12};
  const std::string text = lines_of(o);
  if (!is_root()) return;
  expect_in("WARNING: sel of Cu is 9, but an atom has 10 such neighbors", text);
  EXPECT_EQ(text.find("sel of Al is"), std::string::npos);
}

TEST(StatisticsCommand, NoNeighborsWithinTheCutoff)
{
  StatOptions o = options();
  o.systems = {ROOT + "/cluster"};
  o.rcut = 1.0;
  const Scratch scratch;
  o.output = scratch / "stat.json";
  const std::string text = lines_of(o);
  if (!is_root()) return;
  expect_in("min_nbor_dist: inf", text);
  EXPECT_TRUE(Json::parse(read_file(o.output)).at("systems")[0].at("min_distance").is_null());
}

TEST(StatisticsCommand, WrongSettingsAreNamed)
{
  const auto message = [](const std::function<void(StatOptions &)> &change) {
    StatOptions o = options();
    change(o);
    return message_of([&] { lines_of(o); });
  };
  expect_in("must be a positive number of Angstrom", message([](auto &o) { o.rcut = -1.0; }));
  expect_in("less than rcut", message([](auto &o) { o.rcut_smth = 4.0; }));
  expect_in("factor of sel", message([](auto &o) { o.sel_factor = 0.5; }));
  expect_in("sel has 2 numbers", message([](auto &o) { o.sel = {10, 10}; }));
  expect_in("must not be negative", message([](auto &o) { o.sel = {10, -10, 10}; }));
  expect_in("Cu", message([](auto &o) { o.type_map = {"Al", "Ni"}; }));
  expect_in("nowhere", message([](auto &o) { o.systems = {ROOT + "/nowhere"}; }));
  expect_in("nowhere", message([](auto &o) { o.output = "/nowhere/stat.json"; }));
}

}  // namespace dptrain::test
