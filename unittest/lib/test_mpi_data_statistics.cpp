// Statistics of data sets, frames split over the ranks: against sums over all images, against DeePMD-kit's numbers
// (unittest/reference/statistics; with DPTRAIN_SHARED its case 11), and against one rank alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "dptrain/statistics/statistics.h"
#include "io/file.h"
#include "statistics/data/data_statistics.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

using Json = nlohmann::json;

// Sums of up to 10^7 rows in another order; std takes the root of a difference.
constexpr double TOLERANCE = 1e-12;

/// Frames in memory that count how often they are read.
class MemorySystem : public DataSystem {
 public:
  explicit MemorySystem(std::vector<WholeFrame> frames, std::string name = "memory") :
      frames_(std::move(frames)), name_(std::move(name))
  {
  }
  const std::string &name() const override { return name_; }
  std::int64_t num_frames() const override { return static_cast<std::int64_t>(frames_.size()); }
  std::int64_t natoms(std::int64_t frame) const override
  {
    return static_cast<std::int64_t>(frames_.at(frame).type.size());
  }
  bool same_atoms() const override { return false; }
  WholeFrame read(std::int64_t frame) const override
  {
    ++reads;
    return frames_.at(frame);
  }
  mutable int reads = 0;

 private:
  std::vector<WholeFrame> frames_;
  std::string name_;
};

Systems in_memory(std::vector<WholeFrame> frames)
{
  return {std::make_shared<MemorySystem>(std::move(frames))};
}

ModelConfig two_types(double rcut, double rcut_smth, std::vector<int> sel = {})
{
  ModelConfig config;
  config.descriptor = std::make_unique<SeE2AConfig>();
  config.type_map = {"A", "B"};
  config.rcut = rcut;
  se_e2_a(config).rcut_smth = rcut_smth;
  se_e2_a(config).sel = std::move(sel);
  return config;
}

/// One edge of the definition, word by word.
struct Edge {
  double r, d[3];
  int type, atom;
};

/// All images of all atoms within rcut of atom i.
std::vector<Edge> edges_of(const WholeFrame &frame, int i, double rcut, int images)
{
  std::vector<Edge> edges;
  const int natoms = static_cast<int>(frame.type.size()), m = frame.periodic ? images : 0;
  for (int j = 0; j < natoms; ++j)
    for (int a = -m; a <= m; ++a)
      for (int b = -m; b <= m; ++b)
        for (int c = -m; c <= m; ++c) {
          if (i == j && a == 0 && b == 0 && c == 0) continue;
          Edge edge{0.0, {}, frame.type[j], j};
          for (int k = 0; k < 3; ++k) {
            edge.d[k] = frame.coord[3 * j + k] - frame.coord[3 * i + k] + a * frame.box[k] +
                        b * frame.box[3 + k] + c * frame.box[6 + k];
            edge.r += edge.d[k] * edge.d[k];
          }
          edge.r = std::sqrt(edge.r);
          if (edge.r <= rcut && edge.type >= 0) edges.push_back(edge);
        }
  return edges;
}

/// DeePMD's truncation: the nearest sum(sel), of those the nearest sel[t] of each type.
std::vector<Edge> truncated(std::vector<Edge> edges, const std::vector<int> &sel)
{
  if (sel.empty()) return edges;
  std::sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) { return a.r < b.r; });
  std::vector<Edge> kept;
  std::vector<int> left = sel;
  for (std::size_t k = 0; k < edges.size() && int(k) < std::accumulate(sel.begin(), sel.end(), 0);
       ++k)
    if (left[edges[k].type]-- > 0) kept.push_back(edges[k]);
  return kept;
}

struct Expected {
  std::vector<int> max_neighbors, centers;
  double min_distance = std::numeric_limits<double>::infinity();
  std::vector<double> davg, dstd;  // [ntypes]; [ntypes][2] radial, angular
};

/// The statistics of frames by brute force; sums over `slots` places per atom.
Expected brute_force(const std::vector<WholeFrame> &frames, const ModelConfig &config, double slots,
                     int images)
{
  const int n = config.ntypes();
  Expected e;
  e.max_neighbors = e.centers = std::vector<int>(n, 0);
  std::vector<std::array<double, 4>> sums(n, {0, 0, 0, 0});
  for (const WholeFrame &frame : frames)
    for (int i = 0; i < static_cast<int>(frame.type.size()); ++i) {
      if (frame.type[i] < 0) continue;
      ++e.centers[frame.type[i]];
      const auto all = edges_of(frame, i, config.rcut, images);
      std::vector<int> count(n, 0);
      for (const Edge &edge : all) {
        ++count[edge.type];
        e.min_distance = std::min(e.min_distance, edge.r);
      }
      for (int t = 0; t < n; ++t) e.max_neighbors[t] = std::max(e.max_neighbors[t], count[t]);
      for (const Edge &edge : truncated(all, se_e2_a(config).sel)) {
        bool excluded = false;
        for (const auto &pair : se_e2_a(config).exclude_types)
          excluded = excluded || (pair[0] == frame.type[i] && pair[1] == edge.type) ||
                     (pair[1] == frame.type[i] && pair[0] == edge.type);
        if (excluded) continue;
        const double u =
            (edge.r - se_e2_a(config).rcut_smth) / (config.rcut - se_e2_a(config).rcut_smth);
        const double w = u <= 0 ? 1 : std::pow(u, 3) * (-6 * u * u + 15 * u - 10) + 1;
        const double p = edge.r + se_e2_a(config).env_protection;
        auto &sum = sums[frame.type[i]];
        sum[0] += w / p;
        sum[1] += w * w / p / p;
        for (double d : edge.d) {
          sum[2] += w * d / p / p;
          sum[3] += std::pow(w * d / p / p, 2);
        }
      }
    }
  for (int t = 0; t < n; ++t) {
    const double number = e.centers[t] * slots;
    const bool any = e.centers[t] > 0;
    const double mean = any ? sums[t][0] / number : 0.0, angular = sums[t][2] / 3 / number;
    e.davg.push_back(mean);
    e.dstd.push_back(any ? std::max(1e-2, std::sqrt(sums[t][1] / number - mean * mean)) : 0.1);
    e.dstd.push_back(any ? std::max(1e-2, std::sqrt(sums[t][3] / 3 / number - angular * angular))
                         : 0.1);
  }
  return e;
}

void expect_equal(const Statistics &found, const Expected &expected, const std::vector<int> &sel)
{
  EXPECT_EQ(found.max_neighbors(), expected.max_neighbors);
  if (std::isfinite(expected.min_distance))
    EXPECT_NEAR(found.min_distance(), expected.min_distance, TOLERANCE);
  else
    EXPECT_EQ(found.min_distance(), expected.min_distance);
  const auto davg = found.davg(sel, false), dstd = found.dstd(sel);
  for (std::size_t t = 0; t < expected.centers.size(); ++t) {
    EXPECT_EQ(found.centers(static_cast<int>(t)), expected.centers[t]);
    EXPECT_NEAR(davg[4 * t], expected.davg[t], TOLERANCE) << t;
    EXPECT_NEAR(dstd[4 * t], expected.dstd[2 * t], TOLERANCE) << t;
    for (int c = 1; c < 4; ++c)
      EXPECT_NEAR(dstd[4 * t + c], expected.dstd[2 * t + 1], TOLERANCE) << t;
  }
}

std::vector<WholeFrame> mixed_frames()
{
  // skewed cells far smaller than the cutoff, one atom in its cell, no cell, few atoms in a large one
  std::vector<WholeFrame> frames{random_frame(3, 9, skewed_box(4.0), true, 0.7),
                                 random_frame(4, 1, skewed_box(2.0), true, 0.5),
                                 random_frame(5, 30, skewed_box(6.5), true, 0.7),
                                 random_frame(6, 20, cubic_box(6.0), false, 0.7),
                                 random_frame(7, 3, cubic_box(40.0), true, 0.7),
                                 random_frame(8, 1, cubic_box(3.0), false, 0.7),
                                 random_frame(9, 60, cubic_box(9.0), true, 0.6)};
  frames[2].type[4] = -1;  // a virtual atom
  return frames;
}

constexpr int IMAGES =
    9;  // of the smallest cell within the cutoff, plus two that atoms may be outside

/// Frames of one kind whose smallest distance and energy depend on their number.
std::vector<WholeFrame> numbered_frames(int n, int natoms)
{
  std::vector<WholeFrame> frames;
  for (int k = 0; k < n; ++k) {
    frames.push_back(random_frame(100 + k, natoms, skewed_box(5.0), true, 0.6));
    frames.back().label.energy = -3000.0 + std::sin(k);
  }
  return frames;
}

std::vector<std::string> folders_of(const Json &systems, const std::string &root,
                                    const std::string &water)
{
  std::vector<std::string> folders;
  for (const std::string system : systems)
    folders.push_back(system.rfind("../water", 0) == 0 ? water + system.substr(8)
                                                       : root + "/" + system);
  return folders;
}

Systems open(const std::vector<std::string> &folders, const ModelConfig &config)
{
  DataOptions options;
  options.type_map = config.type_map;
  Systems systems;
  for (const auto &folder : folders) systems.push_back(open_system(folder, options));
  return systems;
}

ModelConfig config_of(const Json &model)
{
  const Json &d = model.at("descriptor");
  ModelConfig config;
  config.descriptor = std::make_unique<SeE2AConfig>();
  config.type_map = model.at("type_map").get<std::vector<std::string>>();
  config.rcut = d.at("rcut");
  se_e2_a(config).rcut_smth = d.at("rcut_smth");
  se_e2_a(config).sel = d.at("sel").get<std::vector<int>>();
  se_e2_a(config).env_protection = d.value("env_protection", 0.0);
  se_e2_a(config).set_davg_zero = d.value("set_davg_zero", false);
  using Pairs = std::vector<std::array<int, 2>>;
  se_e2_a(config).exclude_types = d.value("exclude_types", Pairs());
  config.pair_exclude_types = model.value("pair_exclude_types", Pairs());
  config.atom_exclude_types = model.value("atom_exclude_types", std::vector<int>());
  return config;
}

void expect_training_stat(const DataStatistics &found, const ModelConfig &config, const Json &stat,
                          double angular_tolerance)
{
  const auto davg = found.statistics.davg(se_e2_a(config).sel, se_e2_a(config).set_davg_zero);
  const auto dstd = found.statistics.dstd(se_e2_a(config).sel);
  for (int t = 0; t < config.ntypes(); ++t) {
    for (int c = 0; c < 4; ++c) {
      EXPECT_NEAR(davg[4 * t + c], stat.at("davg")[t][c].get<double>(), TOLERANCE) << t;
      EXPECT_NEAR(dstd[4 * t + c], stat.at("dstd")[t][c].get<double>(),
                  c ? angular_tolerance : TOLERANCE)
          << t;
    }
    // energies of -3e4 eV in the water set
    EXPECT_NEAR(found.energy.bias[t], stat.at("out_bias")[t].get<double>(), 1e-10) << t;
    EXPECT_NEAR(found.energy.deviation[t], stat.value("out_std", found.energy.deviation)[t], 1e-9)
        << t;
  }
}

}  // namespace

TEST(DataStatistics, SumsOverAllImages)
{
  const auto frames = mixed_frames();
  const std::vector<int> sel{200, 300};
  ModelConfig config = two_types(3.0, 1.0);
  expect_equal(collect_statistics(*world(), in_memory(frames), config).statistics,
               brute_force(frames, config, 500, IMAGES), sel);
  se_e2_a(config).env_protection = 0.05;
  se_e2_a(config).exclude_types = {{0, 1}};
  expect_equal(collect_statistics(*world(), in_memory(frames), config).statistics,
               brute_force(frames, config, 500, IMAGES), sel);
}

TEST(DataStatistics, TruncationBySel)
{
  // more neighbors than sum(sel), more than one sel[t], and neither
  const auto frames = mixed_frames();
  for (const std::vector<int> &sel :
       {std::vector<int>{6, 9}, {8, 300}, {300, 5}, {200, 300}, {0, 40}}) {
    SCOPED_TRACE(std::to_string(sel[0]) + " " + std::to_string(sel[1]));
    const ModelConfig config = two_types(3.0, 1.0, sel);
    // a lattice gives equal distances on opposite sides: which one is cut is open, so only atoms at random places
    const std::vector<WholeFrame> some{frames[2], frames[3], frames[6]};
    expect_equal(collect_statistics(*world(), in_memory(some), config).statistics,
                 brute_force(some, config, sel[0] + sel[1], IMAGES), sel);
  }
}

TEST(DataStatistics, LargeCellsAndManyAtoms)
{
  // several cells of the search along each axis, and atoms far from each other
  std::vector<WholeFrame> frames{random_frame(21, 250, skewed_box(13.0), true, 0.5),
                                 random_frame(22, 120, {14, 0, 0, 5, 13, 0, -4, 3, 15}, true, 0.5),
                                 random_frame(23, 200, cubic_box(16.0), false, 0.5)};
  frames.push_back(random_frame(24, 40, cubic_box(5.0), false, 0.5));
  for (int i = 0; i < 20; ++i) frames.back().coord[3 * i] += 1e5;
  const ModelConfig config = two_types(2.9, 0.4);
  expect_equal(collect_statistics(*world(), in_memory(frames), config).statistics,
               brute_force(frames, config, 500, 4), {200, 300});
}

TEST(DataStatistics, NumbersOfDeepmd)
{
  const std::string root = std::string(DPTRAIN_TEST_DATA) + "/statistics";
  const Json expected = Json::parse(read_file(root + "/expected.json"));
  for (const auto &[name, variant] : expected.at("variants").items()) {
    SCOPED_TRACE(name);
    const ModelConfig config = config_of(variant.at("model"));
    const DataStatistics found = collect_statistics(
        *world(), open(folders_of(expected.at("systems"), root, ""), config), config);
    // which of two images at the same distance sel cuts off is open; the mean of the angular columns feels it
    expect_training_stat(found, config, variant.at("training_stat"),
                         name == "overflow" ? 1e-5 : TOLERANCE);
    const Json &neighbors = expected.at("neighbor_stat");
    EXPECT_NEAR(found.statistics.min_distance(), neighbors.at("min_nbor_dist").get<double>(),
                TOLERANCE);
    EXPECT_EQ(found.statistics.max_neighbors(),
              neighbors.at("max_nbor_size").get<std::vector<int>>());
  }
}

TEST(DataStatistics, LargerDataSetsOfDeepmd)
{
  const char *shared = std::getenv("DPTRAIN_SHARED");
  const std::string root = shared ? std::string(shared) + "/cases" : "";
  if (!shared || !std::filesystem::exists(root + "/11_neighbor_stat"))
    GTEST_SKIP() << "set DPTRAIN_SHARED to a folder with cases/11_neighbor_stat";
  const Json all = Json::parse(read_file(root + "/11_neighbor_stat/expected.json"));
  for (const auto &[name, expected] : all.items()) {
    SCOPED_TRACE(name);
    const ModelConfig config =
        config_of({{"descriptor", expected}, {"type_map", expected.at("type_map")}});
    const auto folders =
        folders_of(expected.at("systems"), root, std::string(shared) + "/data/water");
    const DataStatistics found = collect_statistics(*world(), open(folders, config), config);
    expect_training_stat(found, config, expected.at("training_stat"), TOLERANCE);
    EXPECT_NEAR(found.statistics.min_distance(),
                expected.at("api").at("min_nbor_dist").get<double>(), TOLERANCE);
    EXPECT_EQ(found.statistics.max_neighbors(),
              expected.at("api").at("max_nbor_size").get<std::vector<int>>());
  }
}

TEST(DataStatistics, TheSameOnAnyNumberOfRanks)
{
  // many small frames and one that is larger than a rank's share
  auto frames = numbered_frames(23, 12);
  frames.insert(frames.begin() + 11, random_frame(55, 400, skewed_box(14.0), true, 0.55));
  frames.insert(frames.begin() + 15, random_frame(56, 5, cubic_box(20.0), false, 0.7));
  const Systems systems{std::make_shared<MemorySystem>(frames),
                        std::make_shared<MemorySystem>(mixed_frames())};
  const ModelConfig config = two_types(3.0, 0.5);
  const DataStatistics all = collect_statistics(*world(), systems, config);
  const DataStatistics alone = collect_statistics(*make_mpi_communicator(), systems, config);
  EXPECT_EQ(all.statistics.min_distance(), alone.statistics.min_distance());
  EXPECT_EQ(all.statistics.max_neighbors(), alone.statistics.max_neighbors());
  EXPECT_EQ(all.energy.frames, alone.energy.frames);
  for (int t = 0; t < 2; ++t) {
    EXPECT_EQ(all.statistics.centers(t), alone.statistics.centers(t));
    EXPECT_NEAR(all.energy.bias[t], alone.energy.bias[t], 1e-9);  // of -250 eV
    EXPECT_NEAR(all.energy.deviation[t], alone.energy.deviation[t],
                1e-10 * alone.energy.deviation[t]);
    for (int c = 0; c < 4; ++c)
      EXPECT_NEAR(all.statistics.sums()[4 * t + c], alone.statistics.sums()[4 * t + c],
                  TOLERANCE * alone.statistics.sums()[4 * t + 3]);
  }
  ASSERT_EQ(all.systems.size(), alone.systems.size());
  for (std::size_t s = 0; s < systems.size(); ++s) {
    const SystemStatistics &a = all.systems[s], &b = alone.systems[s];
    EXPECT_EQ(a.frames, b.frames);
    EXPECT_EQ(a.atoms, b.atoms);
    EXPECT_EQ(a.max_neighbors, b.max_neighbors);
    EXPECT_NEAR(a.volume, b.volume, TOLERANCE * b.volume);
    ASSERT_TRUE(a.closest && b.closest);
    EXPECT_EQ(a.closest->frame, b.closest->frame);
    EXPECT_EQ(a.closest->pair.distance, b.closest->pair.distance);
    EXPECT_EQ(a.closest->pair.i, b.closest->pair.i);
    EXPECT_EQ(a.closest->pair.j, b.closest->pair.j);
  }
}

TEST(DataStatistics, EachFrameIsReadOnce)
{
  const auto comm = world();
  const auto system = std::make_shared<MemorySystem>(numbered_frames(200, 3));
  collect_statistics(*comm, {system}, two_types(3.0, 0.5));
  std::int64_t reads = system->reads, most = system->reads;
  comm->all_reduce_sum(&reads, 1);
  comm->all_reduce_max(&most, 1);
  EXPECT_EQ(reads, 200);
  EXPECT_LE(most, 200 / comm->size() + 1);
}

TEST(DataStatistics, FewerFramesThanRanks)
{
  const std::vector<WholeFrame> frames{random_frame(31, 150, skewed_box(9.0), true, 0.6)};
  const ModelConfig config = two_types(3.0, 1.0);
  const DataStatistics found = collect_statistics(*world(), in_memory(frames), config);
  expect_equal(found.statistics, brute_force(frames, config, 500, 4), {200, 300});
  EXPECT_EQ(found.systems[0].frames, 1);
  EXPECT_EQ(found.systems[0].atoms, 150);
  EXPECT_EQ(found.energy.frames, 1);
  const std::vector<WholeFrame> one{random_frame(4, 1, skewed_box(2.0), true, 0.5)};
  expect_equal(collect_statistics(*world(), in_memory(one), config).statistics,
               brute_force(one, config, 500, IMAGES), {200, 300});
  const DataStatistics none = collect_statistics(*world(), {}, config);
  EXPECT_EQ(none.energy.bias, std::vector<double>(2, 0.0));
  EXPECT_TRUE(std::isinf(none.statistics.min_distance()));
}

TEST(DataStatistics, ClosestPairAndDensity)
{
  auto frames = numbered_frames(6, 10);
  WholeFrame &frame = frames[4];
  for (int c = 0; c < 3; ++c)  // atom 7 is an image of atom 2, nearly
    frame.coord[21 + c] =
        frame.coord[6 + c] + (c == 1 ? 0.3 : 0.0) + frame.box[c] - frame.box[6 + c];
  const DataStatistics found = collect_statistics(*world(), in_memory(frames), two_types(3.0, 0.5));
  const SystemStatistics &system = found.systems[0];
  ASSERT_TRUE(system.closest);
  EXPECT_EQ(system.closest->frame, 4);
  EXPECT_EQ(system.closest->pair.i, 2);
  EXPECT_EQ(system.closest->pair.j, 7);
  EXPECT_NEAR(system.closest->pair.distance, 0.3, TOLERANCE);
  const double volume = std::abs(0.2 * (-0.1 * -0.9 - 0.25 * -0.2) - (1.1 * -0.9 - 0.25 * 0.35) +
                                 0.3 * (1.1 * -0.2 - -0.1 * 0.35));  // of skewed_box(1)
  EXPECT_NEAR(system.volume, 6 * 125.0 * volume, TOLERANCE * system.volume);
  EXPECT_EQ(system.atoms_in_cells, 60);
}

TEST(DataStatistics, SomeFramesOnly)
{
  const auto frames = numbered_frames(10, 6);
  const ModelConfig config = two_types(3.0, 0.5);
  StatisticsOptions options;
  options.max_frames = {4};
  const std::vector<WholeFrame> chosen{frames[0], frames[2], frames[5],
                                       frames[7]};  // spread evenly
  const DataStatistics found = collect_statistics(*world(), in_memory(frames), config, options);
  expect_equal(found.statistics, brute_force(chosen, config, 500, 5), {200, 300});
  EXPECT_EQ(found.systems[0].frames, 4);
  options.max_frames = {40};
  EXPECT_EQ(collect_statistics(*world(), in_memory(frames), config, options).systems[0].frames, 10);
}

TEST(DataStatistics, FramesWithCloseAtomsAreLeftOut)
{
  auto frames = numbered_frames(5, 6);
  for (int c = 0; c < 3; ++c) frames[3].coord[c] = frames[3].coord[3 + c] + (c ? 0.0 : 0.4);
  const ModelConfig config = two_types(3.0, 0.5);
  StatisticsOptions options;
  options.min_pair_dist = 0.5;
  const DataStatistics found = collect_statistics(*world(), in_memory(frames), config, options);
  frames.erase(frames.begin() + 3);
  expect_equal(found.statistics, brute_force(frames, config, 500, 5), {200, 300});
  EXPECT_EQ(found.systems[0].frames, 4);
  EXPECT_EQ(found.systems[0].skipped, 1);
  EXPECT_EQ(found.energy.frames, 4);
}

TEST(DataStatistics, BrokenFramesAreNamed)
{
  const auto message = [](std::vector<WholeFrame> frames) {
    const Systems systems{std::make_shared<MemorySystem>(numbered_frames(3, 5), "good"),
                          std::make_shared<MemorySystem>(std::move(frames), "bad")};
    return message_of([&] { collect_statistics(*world(), systems, two_types(3.0, 0.5)); });
  };
  auto frames = numbered_frames(9, 5);
  for (int c = 0; c < 3; ++c) frames[7].coord[c] = frames[7].coord[6 + c] + frames[7].box[c];
  expect_in("System bad, frame 7 ", message(frames));
  expect_in("atom 0 and atom 2 are at the same place", message(frames));
  frames = numbered_frames(9, 5);
  frames[6].coord[4] = std::numeric_limits<double>::quiet_NaN();
  expect_in("System bad, frame 6 ", message(frames));
  expect_in("the position of atom 1 is not a finite number", message(frames));
  frames = numbered_frames(9, 5);
  frames[1].label.energy = std::numeric_limits<double>::infinity();
  expect_in("energy is not a finite number", message(frames));
  frames[1] = random_frame(3, 4, cubic_box(0.01), true, 0.0);
  expect_in("check the units of the box", message(frames));
  frames[1] = random_frame(3, 4, {1, 0, 0, 2, 0, 0, 0, 0, 1}, true, 0.0);
  expect_in("no volume", message(frames));
  frames[1] = random_frame(3, 4, cubic_box(5.0), true, 0.5);
  frames[1].type[2] = 2;
  expect_in("type index 2", message(frames));
}

TEST(DataStatistics, EnergiesByCompositionAreTheLeastSquaresOfAllFrames)
{
  // three compositions, one of them rare; frames without an energy do not count
  std::vector<WholeFrame> frames;
  std::vector<double> counts, energies;
  for (int k = 0; k < 60; ++k) {
    const int natoms = k % 7 == 0 ? 9 : 4;
    WholeFrame frame = random_frame(700 + k % 3, natoms, cubic_box(6.0), true, 0.7);
    frame.label.energy = -2e4 * natoms + 0.5 * std::sin(1.7 * k);
    if (k % 10 == 9) frame.label.energy.reset();
    frames.push_back(frame);
    if (!frame.label.energy) continue;
    const double first = static_cast<double>(std::count(frame.type.begin(), frame.type.end(), 0));
    counts.insert(counts.end(), {first, natoms - first});
    energies.push_back(*frame.label.energy);
  }
  const auto expected = fit_energy_bias(counts, energies, 2);
  double sum = 0.0, squares = 0.0, per_atom = 0.0;
  for (std::size_t f = 0; f < energies.size(); ++f) {
    const double a = counts[2 * f], b = counts[2 * f + 1];
    const double rest = energies[f] - a * expected[0] - b * expected[1];
    sum += rest;
    squares += rest * rest;
    per_atom += rest * rest / ((a + b) * (a + b));
  }
  const double n = static_cast<double>(energies.size()), mean = sum / n;
  const EnergyBias found =
      collect_statistics(*world(), in_memory(frames), two_types(3.0, 0.5)).energy;
  EXPECT_EQ(found.frames, static_cast<std::int64_t>(energies.size()));
  for (int t = 0; t < 2; ++t) {
    EXPECT_NEAR(found.bias[t], expected[t], 1e-9);  // of -2e4 eV: rounding of the solver
    EXPECT_NEAR(found.deviation[t], std::sqrt(squares / n - mean * mean), 1e-8);
  }
  EXPECT_NEAR(found.rmse_per_atom, std::sqrt(per_atom / n), 1e-8);
}

// dp train of DeePMD-kit 3.2 does not look at atom_ener.npy either, with and without the term ae of the loss.
TEST(DataStatistics, AtomicEnergiesHaveNoPartInTheEnergyBias)
{
  auto frames = numbered_frames(8, 5);
  const ModelConfig config = two_types(3.0, 0.5);
  const EnergyBias without = collect_statistics(*world(), in_memory(frames), config).energy;
  for (int k = 0; k < 3; ++k) frames[k].label.atom_energy.assign(5, -100.0 + k);
  const EnergyBias found = collect_statistics(*world(), in_memory(frames), config).energy;
  EXPECT_EQ(found.bias, without.bias);
  EXPECT_EQ(found.deviation, without.deviation);
}

}  // namespace dptrain::test
