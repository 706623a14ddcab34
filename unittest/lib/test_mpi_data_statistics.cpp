// Statistics of data sets, frames split over the ranks: against sums over all images, against DeePMD-kit's numbers
// (unittest/reference/statistics; with DPTRAIN_SHARED its case 11), and against one rank alone.

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "io/file.h"
#include "offline/data_statistics.h"
#include "support/random_frame.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

using Json = nlohmann::json;
using Systems = std::vector<std::shared_ptr<const DataSystem>>;

// Sums of up to 10^7 rows in another order; std takes the root of a difference.
constexpr double TOLERANCE = 1e-12;

std::shared_ptr<const Communicator> world()
{
  const MPI_Comm comm = MPI_COMM_WORLD;
  return make_mpi_communicator(&comm);
}

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
  config.type_map = {"A", "B"};
  config.rcut = rcut;
  config.rcut_smth = rcut_smth;
  config.sel = std::move(sel);
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
  std::vector<double> davg, dstd;
};

/// The statistics of frames by brute force; sums over `slots` places per atom.
Expected brute_force(const std::vector<WholeFrame> &frames, const ModelConfig &config, double slots,
                     int images)
{
  const int n = config.ntypes();
  Expected e{std::vector<int>(n, 0), std::vector<int>(n, 0)};
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
      for (const Edge &edge : truncated(all, config.sel)) {
        bool excluded = false;
        for (const auto &pair : config.exclude_types)
          excluded = excluded || (pair[0] == frame.type[i] && pair[1] == edge.type) ||
                     (pair[1] == frame.type[i] && pair[0] == edge.type);
        if (excluded) continue;
        const double u = (edge.r - config.rcut_smth) / (config.rcut - config.rcut_smth);
        const double w = u <= 0 ? 1 : std::pow(u, 3) * (-6 * u * u + 15 * u - 10) + 1;
        const double p = edge.r + config.env_protection;
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

}  // namespace

TEST(DataStatistics, SumsOverAllImages)
{
  const auto frames = mixed_frames();
  const std::vector<int> sel{200, 300};
  ModelConfig config = two_types(3.0, 1.0);
  expect_equal(collect_statistics(*world(), in_memory(frames), config).statistics,
               brute_force(frames, config, 500, IMAGES), sel);
  config.env_protection = 0.05;
  config.exclude_types = {{0, 1}};
  expect_equal(collect_statistics(*world(), in_memory(frames), config).statistics,
               brute_force(frames, config, 500, IMAGES), sel);
}

}  // namespace dptrain::test
