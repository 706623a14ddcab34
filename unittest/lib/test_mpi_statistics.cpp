// Statistics against numbers of DeePMD-kit (unittest/reference/statistics; with DPTRAIN_SHARED its case 11) and against
// sums over all images, on as many ranks as there are.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/statistics/statistics.h"
#include "io/file.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

using Json = nlohmann::json;

// Sums of up to 10^7 rows in another order; std takes the root of a difference.
constexpr double TOLERANCE = 1e-12;

struct Settings {
  std::vector<std::string> type_map;
  double rcut, rcut_smth, env_protection;
  std::vector<int> sel;
  bool davg_zero;
  std::vector<std::array<int, 2>> exclude;
};

Settings settings_of(const Json &model)
{
  const Json &d = model.at("descriptor");
  Settings s{model.at("type_map"),
             d.at("rcut"),
             d.at("rcut_smth"),
             d.value("env_protection", 0.0),
             d.at("sel"),
             d.value("set_davg_zero", false),
             d.value("exclude_types", std::vector<std::array<int, 2>>())};
  for (const auto &pair : model.value("pair_exclude_types", std::vector<std::array<int, 2>>()))
    s.exclude.push_back(pair);
  return s;
}

Statistics statistics_of(const std::vector<WholeFrame> &frames, const Settings &s)
{
  const auto comm = world();
  Statistics statistics(static_cast<int>(s.type_map.size()),
                        {s.rcut, s.rcut_smth, s.env_protection, s.sel, s.exclude});
  for (const auto &frame : frames) statistics.add(scatter_frame(comm, frame, s.rcut).domain());
  statistics.reduce(*comm);
  return statistics;
}

std::vector<WholeFrame> read_systems(const std::vector<std::string> &folders,
                                     const std::vector<std::string> &type_map)
{
  std::vector<WholeFrame> frames;
  for (const auto &folder : folders)
    for (auto &frame : read_npy_system(folder, type_map)) frames.push_back(std::move(frame));
  return frames;
}

void expect_rows(const std::vector<double> &found, const Json &expected, const std::string &what,
                 double angular_tolerance = TOLERANCE)
{
  for (std::size_t t = 0; t < expected.size(); ++t)
    for (int c = 0; c < 4; ++c)
      EXPECT_NEAR(found[4 * t + c], expected[t][c].get<double>(), c ? angular_tolerance : TOLERANCE)
          << what << " type " << t << " column " << c;
}

std::vector<double> bias_of(const std::vector<WholeFrame> &frames, int ntypes,
                            const std::vector<int> &without = {})
{
  std::vector<double> counts, energies;
  for (const auto &frame : frames) {
    std::vector<double> row(ntypes, 0.0);
    for (int type : frame.type) row[type] += 1.0;
    for (int type : without) row[type] = 0.0;
    counts.insert(counts.end(), row.begin(), row.end());
    energies.push_back(*frame.label.energy);
  }
  return fit_energy_bias(counts, energies, ntypes);
}

}  // namespace

TEST(Statistics, NumbersOfDeepmd)
{
  const std::string root = std::string(DPTRAIN_TEST_DATA) + "/statistics";
  const Json expected = Json::parse(read_file(root + "/expected.json"));
  std::vector<std::string> folders;
  for (const std::string name : expected.at("systems")) folders.push_back(root + "/" + name);
  const auto frames = read_systems(folders, expected.at("type_map"));
  ASSERT_FALSE(frames.empty());
  for (const auto &[name, variant] : expected.at("variants").items()) {
    SCOPED_TRACE(name);
    const Settings s = settings_of(variant.at("model"));
    const Statistics found = statistics_of(frames, s);
    const Json &stat = variant.at("training_stat");
    expect_rows(found.davg(s.sel, s.davg_zero), stat.at("davg"), "davg");
    // Where sel cuts between two images of one atom at the same distance on opposite sides, it is open which one stays;
    // only the mean of the angular columns feels it.
    const double angular_tolerance = name == "overflow" ? 1e-5 : TOLERANCE;
    expect_rows(found.dstd(s.sel), stat.at("dstd"), "dstd", angular_tolerance);
    EXPECT_NEAR(found.min_distance(),
                expected.at("neighbor_stat").at("min_nbor_dist").get<double>(), TOLERANCE);
    EXPECT_EQ(found.max_neighbors(),
              expected.at("neighbor_stat").at("max_nbor_size").get<std::vector<int>>());
    if (!variant.at("model").at("fitting_net").contains("atom_ener")) {
      const auto bias =
          bias_of(frames, 3, variant.at("model").value("atom_exclude_types", std::vector<int>()));
      for (int t = 0; t < 3; ++t) EXPECT_NEAR(bias[t], stat.at("out_bias")[t].get<double>(), 1e-11);
    }
  }
}

TEST(Statistics, LargerDataSetsOfDeepmd)
{
  const char *shared = std::getenv("DPTRAIN_SHARED");
  const std::string root = shared ? std::string(shared) + "/cases" : "";
  if (!shared || !std::filesystem::exists(root + "/11_neighbor_stat"))
    GTEST_SKIP() << "set DPTRAIN_SHARED to a folder with cases/11_neighbor_stat";
  const Json all = Json::parse(read_file(root + "/11_neighbor_stat/expected.json"));
  for (const auto &[name, expected] : all.items()) {
    SCOPED_TRACE(name);
    const Settings s{expected.at("type_map"),
                     expected.at("rcut"),
                     expected.at("rcut_smth"),
                     0.0,
                     expected.at("sel"),
                     false,
                     {}};
    std::vector<std::string> folders;
    for (std::string system : expected.at("systems"))
      folders.push_back(system.rfind("../water", 0) == 0
                            ? std::string(shared) + "/data/" + system.substr(3)
                            : root + "/" + system);
    const auto frames = read_systems(folders, s.type_map);
    const Statistics found = statistics_of(frames, s);
    const Json &stat = expected.at("training_stat");
    expect_rows(found.davg(s.sel, false), stat.at("davg"), "davg");
    expect_rows(found.dstd(s.sel), stat.at("dstd"), "dstd");
    EXPECT_NEAR(found.min_distance(), expected.at("api").at("min_nbor_dist").get<double>(),
                TOLERANCE);
    EXPECT_EQ(found.max_neighbors(),
              expected.at("api").at("max_nbor_size").get<std::vector<int>>());
    const auto bias = bias_of(frames, static_cast<int>(s.type_map.size()));
    for (std::size_t t = 0; t < bias.size(); ++t)
      EXPECT_NEAR(bias[t], stat.at("out_bias")[t].get<double>(), 1e-10);  // energies of -3e4 eV
  }
}

TEST(Statistics, SumsOverAllImages)
{
  // a small cell, every image written out; the definition word by word
  const double rcut = 3.0, rs = 1.0;
  const WholeFrame frame = random_frame(3, 9, skewed_box(4.0), true, 0.7);
  const std::vector<int> sel{40, 60};
  std::array<double, 2> sum{}, squares{}, angular{}, angular_squares{};
  std::array<int, 2> centers{};
  std::vector<int> most(2, 0);
  double closest = 1e9;
  for (int i = 0; i < 9; ++i) {
    const int t = frame.type[i];
    ++centers[t];
    std::array<int, 2> count{};
    for (int j = 0; j < 9; ++j)
      for (int n = 0; n < 13 * 13 * 13;
           ++n) {  // atoms may be two cells away from each other: shifts up to 6
        const int a = n % 13 - 6, b = n / 13 % 13 - 6, c = n / 169 - 6;
        if (i == j && a == 0 && b == 0 && c == 0) continue;
        double d[3], r = 0.0;
        for (int k = 0; k < 3; ++k) {
          d[k] = frame.coord[3 * j + k] - frame.coord[3 * i + k] + a * frame.box[k] +
                 b * frame.box[3 + k] + c * frame.box[6 + k];
          r += d[k] * d[k];
        }
        r = std::sqrt(r);
        if (r > rcut) continue;
        ++count[frame.type[j]];
        closest = std::min(closest, r);
        const double u = (r - rs) / (rcut - rs);
        const double w = u <= 0 ? 1 : std::pow(u, 3) * (-6 * u * u + 15 * u - 10) + 1;
        sum[t] += w / r;
        squares[t] += std::pow(w / r, 2);
        for (int k = 0; k < 3; ++k) {
          angular[t] += w * d[k] / (r * r);
          angular_squares[t] += std::pow(w * d[k] / (r * r), 2);
        }
      }
    for (int k = 0; k < 2; ++k) most[k] = std::max(most[k], count[k]);
  }
  const Statistics found = statistics_of({frame}, {{"A", "B"}, rcut, rs, 0.0, {}, false, {}});
  EXPECT_EQ(found.max_neighbors(), most);
  EXPECT_NEAR(found.min_distance(), closest, TOLERANCE);
  for (int t = 0; t < 2; ++t) {
    const double n = centers[t] * 100.0, mean = sum[t] / n, angular_mean = angular[t] / (3 * n);
    EXPECT_EQ(found.centers(t), centers[t]);
    EXPECT_NEAR(found.davg(sel, false)[4 * t], mean, TOLERANCE);
    EXPECT_NEAR(found.dstd(sel)[4 * t], std::sqrt(squares[t] / n - mean * mean), TOLERANCE);
    EXPECT_NEAR(found.dstd(sel)[4 * t + 2],
                std::sqrt(angular_squares[t] / (3 * n) - angular_mean * angular_mean), TOLERANCE);
  }
}

std::int64_t operations(const Communicator &comm)
{
  std::int64_t calls = 0;
  for (const auto &kind : comm.traffic()) calls += kind.calls;
  return calls;
}

TEST(Statistics, ARankLooksAtItsShareAndTalksOnce)
{
  const auto comm = world();
  const std::int64_t atoms = 600;
  const Frame share = scatter_frame(
      comm, random_frame(7, static_cast<int>(atoms), cubic_box(20.0), true, 0.5), 3.0);
  Statistics statistics(2, {3.0, 0.5, 0.0, {50, 50}, {}});
  const std::int64_t before = operations(*comm);
  statistics.add(share.domain());
  EXPECT_LE(statistics.centers(0) + statistics.centers(1), atoms / comm->size() + 1);
  EXPECT_EQ(operations(*comm), before);
  statistics.reduce(*comm);
  EXPECT_EQ(operations(*comm), before + (comm->size() > 1 ? 1 : 0));
  EXPECT_EQ(statistics.centers(0) + statistics.centers(1), atoms);
}

TEST(Statistics, DefaultsWithoutSamples)
{
  const Statistics empty = statistics_of({}, {{"A", "B"}, 3.0, 1.0, 0.0, {}, false, {}});
  EXPECT_TRUE(std::isinf(empty.min_distance()));
  EXPECT_EQ(empty.davg({4, 4}, false), std::vector<double>(8, 0.0));
  EXPECT_EQ(empty.dstd({4, 4}), std::vector<double>(8, 0.1));
  EXPECT_EQ(empty.recommended_sel(1.5), (std::vector<int>{4, 4}));
  WholeFrame lonely = random_frame(1, 1, cubic_box(50.0), true, 1.0);
  lonely.type = {0};
  const Statistics one = statistics_of({lonely}, {{"A", "B"}, 3.0, 1.0, 0.0, {}, false, {}});
  EXPECT_EQ(one.dstd({4, 4}), (std::vector<double>{1e-2, 1e-2, 1e-2, 1e-2, 0.1, 0.1, 0.1, 0.1}));
}

TEST(Statistics, RecommendedSelIsAMultipleOfFour)
{
  WholeFrame frame = random_frame(5, 12, cubic_box(4.0), true, 0.8);
  const Statistics found = statistics_of({frame}, {{"A", "B"}, 3.0, 1.0, 0.0, {}, false, {}});
  const auto sel = found.recommended_sel(1.5);
  for (int t = 0; t < 2; ++t) {
    EXPECT_EQ(sel[t] % 4, 0);
    EXPECT_GE(sel[t], std::floor(1.5 * found.max_neighbors()[t]));  // as DeePMD-kit
    EXPECT_LT(sel[t], 1.5 * found.max_neighbors()[t] + 4);
  }
}

TEST(Statistics, FileGivesBackTheSameBits)
{
  const std::vector<std::string> types{"A", "B"};
  const Settings s{types, 3.0, 1.0, 0.01, {}, false, {}};
  Statistics found = statistics_of({random_frame(5, 12, cubic_box(4.0), true, 0.8)}, s);
  found.set_source("12 atoms");
  const Statistics again =
      Statistics::from_json(found.to_json(types), "stat.json", types, {3.0, 1.0, 0.01, {}, {}});
  EXPECT_EQ(again.davg({40, 40}, false), found.davg({40, 40}, false));
  EXPECT_EQ(again.dstd({40, 40}), found.dstd({40, 40}));
  EXPECT_EQ(again.min_distance(), found.min_distance());
  EXPECT_EQ(again.max_neighbors(), found.max_neighbors());
  EXPECT_EQ(again.centers(1), found.centers(1));
  EXPECT_EQ(again.mean_neighbors(), found.mean_neighbors());
  EXPECT_EQ(again.source(), "12 atoms");
  const StatisticsSettings settings{3.0, 1.0, 0.0, {}, {}};
  const Statistics empty(2, settings);
  EXPECT_TRUE(
      std::isinf(Statistics::from_json(empty.to_json(types), "s", types, settings).min_distance()));
  // files of earlier versions do not tell the mean number of neighbors
  Json old = Json::parse(found.to_json(types));
  old.erase("neighbors");
  const Statistics without =
      Statistics::from_json(old.dump(), "stat.json", types, {3.0, 1.0, 0.01, {}, {}});
  EXPECT_EQ(without.dstd({40, 40}), found.dstd({40, 40}));
  expect_in("computed again", message_of([&] { without.mean_neighbors(); }));
}

TEST(Statistics, AFileOfOtherSettingsSaysWhatDiffers)
{
  const std::vector<std::string> types{"A", "B"};
  const WholeFrame frame = random_frame(5, 60, cubic_box(6.0), true, 0.8);
  const Statistics some = statistics_of({frame}, {types, 3.0, 1.0, 0.0, {}, false, {}});
  const std::string text = some.to_json(types);
  const auto read = [&](const std::vector<std::string> &t, const StatisticsSettings &settings) {
    const std::string message =
        message_of([&] { Statistics::from_json(text, "stat.json", t, settings); });
    expect_in("stat.json", message);
    return message;
  };
  EXPECT_EQ(read(types, {4.0, 1.0, 0.0, {}, {}}).find("rcut_smth"), std::string::npos);
  expect_in("rcut is 3.0 there and 4.0 here", read(types, {4.0, 1.0, 0.0, {}, {}}));
  expect_in("rcut_smth is 1.0 there and 0.5 here", read(types, {3.0, 0.5, 0.0, {}, {}}));
  expect_in("type_map is [\"A\",\"B\"] there and [\"B\",\"A\"] here",
            read({"B", "A"}, {3.0, 1.0, 0.0, {}, {}}));
  expect_in("excluded pairs of types: 0-1", read(types, {3.0, 1.0, 0.0, {}, {{0, 1}}}));
  expect_in("env_protection", read(types, {3.0, 1.0, 0.1, {}, {}}));
  expect_in("sel is \"all\" there and [4,4] here", read(types, {3.0, 1.0, 0.0, {4, 4}, {}}));
  // a sel that keeps every neighbor makes no difference
  EXPECT_EQ(
      Statistics::from_json(text, "stat.json", types, {3.0, 1.0, 0.0, {90, 90}, {}}).dstd({90, 90}),
      some.dstd({90, 90}));
}

TEST(Statistics, ADamagedFileIsNamed)
{
  const std::vector<std::string> types{"A", "B"};
  const StatisticsSettings settings{3.0, 1.0, 0.0, {}, {}};
  const auto read = [&](const std::string &text) {
    return message_of([&] { Statistics::from_json(text, "stat.json", types, settings); });
  };
  const std::string good = Statistics(2, settings).to_json(types);
  expect_in("cannot be read", read(good.substr(0, good.size() / 2)));
  expect_in("not one of this version", read("{}"));
  Json json = Json::parse(good);
  json["sums"] = {1.0};
  expect_in("damaged", read(json.dump()));
}

TEST(Statistics, OverlappingAtomsAndBadSelAreRefused)
{
  WholeFrame frame = random_frame(5, 4, cubic_box(9.0), false, 1.0);
  std::copy_n(frame.coord.begin(), 3, frame.coord.begin() + 3);
  Statistics statistics(2, {3.0, 1.0, 0.0, {}, {}});
  const Frame whole = scatter_frame(make_mpi_communicator(), frame, 3.0);
  expect_in("on top of another", message_of([&] { statistics.add(whole.domain()); }));
  expect_in("sel has 1", message_of([] { Statistics(2, {3.0, 1.0, 0.0, {4}, {}}); }));
}

}  // namespace dptrain::test
