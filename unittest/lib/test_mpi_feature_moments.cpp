// Distances of features against brute force: of the last hidden layer with features that the linearity of the energy gives (E_i
// changes by feature k when weight k of the last layer grows by one), of a descriptor with sums over single centers.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "potential/native/deep_pot.h"
#include "support/kernel_data.h"
#include "support/power_spectrum_model.h"
#include "support/random_frame.h"
#include "support/tiny_model.h"
#include "support/world.h"

namespace dptrain::test {
namespace {

constexpr int H = 7;  // last hidden layer of the tiny model
// Differences of energies of size 1, sums of H products; the matrices have a condition number of 1e9 at most.
constexpr double TOLERANCE = 1e-7;

std::shared_ptr<DeepPot> make_model()
{
  ModelConfig config = tiny_config();
  se_e2_a(config).sel = {60, 60};
  return std::make_shared<DeepPot>(tiny_model(config));
}

Frame make_frame(int seed, double rcut)
{
  return scatter_frame(world(), random_frame(seed, 40, skewed_box(7.5), true, 1.4), rcut);
}

/// Place of the first weight of the last layer, by type.
std::size_t last_weights(const Model &model, int type)
{
  const std::string name = "/model/fitting/nets/networks/" + std::to_string(type) + "/layers/2/";
  for (const auto &block : model.parameters().blocks())
    if (block.name.find(name) != std::string::npos) return block.offset;
  throw Error("no last layer in the tiny model");
}

/// x of C x = b, by elimination; C [n][n] is positive definite.
std::vector<double> solve(std::vector<double> c, std::vector<double> b)
{
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = c[i * n + k] / c[k * n + k];
      for (std::size_t j = k; j < n; ++j) c[i * n + j] -= factor * c[k * n + j];
      b[i] -= factor * b[k];
    }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= c[k * n + j] * b[j];
    b[k] /= c[k * n + k];
  }
  return b;
}

struct Answer {
  std::vector<double> energy, force;
};

Answer evaluate(Model &model, const Frame &frame)
{
  Answer a{std::vector<double>(frame.nlocal), std::vector<double>(3 * frame.nall())};
  ForwardOutput out;
  out.atom_energy = a.energy.data();
  out.force = a.force.data();
  model.forward(frame.domain(), out);
  return a;
}

Answer with_changed_weights(Model &model, const Frame &frame, const std::vector<double> &change)
{
  const std::vector<double> before = model.parameters().values();
  std::vector<double> after = before;
  for (int type = 0; type < 2; ++type)
    for (int k = 0; k < H; ++k) after[last_weights(model, type) + k] += change[type * H + k];
  model.parameters().set(after);
  const Answer answer = evaluate(model, frame);
  model.parameters().set(before);
  return answer;
}

/// Features [nlocal][H].
std::vector<double> features(Model &model, const Frame &frame)
{
  std::vector<double> f(static_cast<std::size_t>(frame.nlocal) * H);
  const Answer before = evaluate(model, frame);
  for (int k = 0; k < H; ++k) {
    std::vector<double> change(2 * H, 0.0);
    change[k] = change[H + k] = 1.0;
    const Answer after = with_changed_weights(model, frame, change);
    for (int i = 0; i < frame.nlocal; ++i) f[i * H + k] = after.energy[i] - before.energy[i];
  }
  return f;
}

struct Distances {
  std::vector<double> atom, sum;
};

Distances distances(Model &model, const Frame &frame)
{
  Distances s{std::vector<double>(frame.nlocal, -1.0),
              std::vector<double>(2 * model.features()->number(), 0.0)};
  std::vector<double> force(3 * frame.nall());
  ForwardOutput out;
  out.force = force.data();
  out.bar = s.atom.data();
  out.feature_sum = s.sum.data();
  model.forward(frame.domain(), out);
  return s;
}

TEST(FeatureMoments, DistanceIsTheLengthOfWhitenedFeatures)
{
  const auto model = make_model();
  const Frame frame = make_frame(1, model->cutoff());
  std::vector<double> w(2 * H * H);
  Numbers random(11);
  for (double &number : w) number = random(-1.0, 1.0);
  const FeatureMetric metric{std::vector<double>(2 * H, 0.0), w};
  model->features()->set_metric(metric);
  const std::vector<double> f = features(*model, frame);
  const Distances s = distances(*model, frame);
  std::vector<double> sum(2 * H, 0.0);
  for (int i = 0; i < frame.nlocal; ++i) {
    double square = 0.0;
    for (int c = 0; c < H; ++c) {
      double z = 0.0;
      for (int k = 0; k < H; ++k) z += f[i * H + k] * w[(frame.type[i] * H + k) * H + c];
      square += z * z;
      sum[frame.type[i] * H + c] += f[i * H + c];
    }
    EXPECT_NEAR(s.atom[i], std::sqrt(square), 1e-10) << "atom " << i;
  }
  for (int k = 0; k < 2 * H; ++k) EXPECT_NEAR(s.sum[k], sum[k], 1e-10);
}

// The mean square over the frames of the moments is 1 for each type, but for the ridge.
TEST(FeatureMoments, MeanSquareOverTheFramesIsOne)
{
  const auto model = make_model();
  FeatureMoments moments(model, world());
  std::vector<Frame> frames;
  for (int k = 0; k < 4; ++k) frames.push_back(make_frame(k + 1, model->cutoff()));
  for (const Frame &frame : frames) moments.add(frame);
  moments.apply();
  double sums[4] = {};  // squares and atoms of both types
  for (const Frame &frame : frames) {
    const Distances s = distances(*model, frame);
    for (int i = 0; i < frame.nlocal; ++i) {
      sums[frame.type[i]] += s.atom[i] * s.atom[i];
      sums[2 + frame.type[i]] += 1.0;
    }
  }
  world()->all_reduce_sum(sums, 4);
  for (int type = 0; type < 2; ++type) {
    EXPECT_GT(sums[type] / sums[2 + type], 0.5);
    EXPECT_LE(sums[type] / sums[2 + type], 1.0 + TOLERANCE);
  }
}

// Mahalanobis distances of a descriptor by means, covariances and a solver of their own. Condition number 1e7 at most.
TEST(FeatureMoments, OfADescriptorAreThoseOfTheDefinition)
{
  const auto model =
      std::make_shared<DeepPot>(power_spectrum_model(2, small_power_spectrum(), 4.0));
  const std::size_t h = model->features()->number();
  EXPECT_EQ(h, static_cast<std::size_t>(small_power_spectrum().size()));
  FeatureMoments moments(model, world());
  std::vector<std::vector<double>> f[2];  // by type, of all ranks
  std::vector<std::pair<int, std::vector<double>>> first;
  for (int k = 0; k < 4; ++k) {
    const Frame frame = make_frame(k + 1, model->cutoff());
    moments.add(frame);
    std::vector<double> all(40 * h, 0.0), type(40, 0.0);
    for (int i = 0; i < frame.nlocal; ++i) {
      Domain one = frame.domain();
      one.num_centers = 1;
      one.centers += i;
      std::vector<double> force(3 * frame.nall()), sum(2 * h, 0.0);
      ForwardOutput out;
      out.force = force.data();
      out.feature_sum = sum.data();
      model->forward(one, out);
      const std::size_t atom = frame.tag[one.centers[0]] - 1;
      const int t = frame.type[one.centers[0]];
      std::copy_n(&sum[t * h], h, &all[atom * h]);
      type[atom] = t;
    }
    world()->all_reduce_sum(all.data(), all.size());
    world()->all_reduce_sum(type.data(), type.size());
    for (std::size_t i = 0; i < 40; ++i) {
      const int t = static_cast<int>(type[i]);
      f[t].emplace_back(&all[i * h], &all[i * h] + h);
      if (k == 0) first.emplace_back(t, f[t].back());
    }
  }
  moments.apply();
  const Frame frame = make_frame(1, model->cutoff());
  const Distances found = distances(*model, frame);
  for (int i = 0; i < frame.nlocal; ++i) {
    const auto &[t, own] = first[frame.tag[i] - 1];
    std::vector<double> mean(h, 0.0), c(h * h, 0.0);
    const double n = static_cast<double>(f[t].size());
    for (const auto &atom : f[t])
      for (std::size_t a = 0; a < h; ++a) mean[a] += atom[a] / n;
    for (const auto &atom : f[t])
      for (std::size_t a = 0; a < h; ++a)
        for (std::size_t b = 0; b < h; ++b)
          c[a * h + b] += (atom[a] - mean[a]) * (atom[b] - mean[b]) / n;
    double trace = 0.0;
    for (std::size_t a = 0; a < h; ++a) trace += c[a * h + a];
    for (std::size_t a = 0; a < h; ++a) c[a * h + a] += 1e-7 * trace / static_cast<double>(h);
    std::vector<double> x;
    for (std::size_t a = 0; a < h; ++a) x.push_back(own[a] - mean[a]);
    const std::vector<double> y = solve(c, x);
    double square = 0.0;
    for (std::size_t a = 0; a < h; ++a) square += x[a] * y[a];
    EXPECT_NEAR(found.atom[i], std::sqrt(square / static_cast<double>(h)), 1e-5 * found.atom[i])
        << "atom " << frame.tag[i];
  }
}

TEST(FeatureMoments, UnseenTypesAreFarAway)
{
  const auto model = make_model();
  FeatureMoments moments(model, world());
  WholeFrame whole = random_frame(1, 40, skewed_box(7.5), true, 1.4);
  std::fill(whole.type.begin(), whole.type.end(), 0);
  moments.add(scatter_frame(world(), whole, model->cutoff()));
  moments.apply();
  const Frame frame = make_frame(1, model->cutoff());
  const Distances s = distances(*model, frame);
  for (int i = 0; i < frame.nlocal; ++i)
    if (frame.type[i] == 1) {
      EXPECT_GT(s.atom[i], 1e4);
    } else {
      EXPECT_LT(s.atom[i], 1e4);
    }
}

// Two independent configurations are about 1 apart, a configuration and one with atoms moved a little far less.
TEST(FeatureMoments, DistanceTellsDuplicates)
{
  const auto model = make_model();
  FeatureMoments moments(model, world());
  for (int k = 0; k < 4; ++k) moments.add(make_frame(k + 1, model->cutoff()));
  WholeFrame moved = random_frame(1, 40, skewed_box(7.5), true, 1.4);
  Numbers random(3);
  for (double &x : moved.coord) x += random(-1e-3, 1e-3);
  moments.add(scatter_frame(world(), moved, model->cutoff()));
  moments.apply();
  const auto &sums = moments.feature_sums();
  const auto distance = [&](int a, int b) {
    return feature_distance(model->features()->metric(), sums[a], sums[b], 40);
  };
  EXPECT_EQ(distance(0, 0), 0.0);
  for (int k = 1; k < 4; ++k) EXPECT_GT(distance(0, k), 0.1);
  EXPECT_LT(distance(0, 4), 0.01);
  EXPECT_GT(distance(0, 4), 0.0);
}

TEST(FeatureMoments, Errors)
{
  const auto model = make_model();
  const Frame frame = make_frame(1, model->cutoff());
  EXPECT_THROW(distances(*model, frame), Error);  // no metric yet
  EXPECT_THROW(model->features()->set_metric({{}, {1.0, 2.0}}), Error);
}

}  // namespace
}  // namespace dptrain::test
