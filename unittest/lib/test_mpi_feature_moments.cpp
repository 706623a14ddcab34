// Uncertainties from the last hidden layer against features that the linearity of the energy gives: E_i changes by
// feature k when weight k of the last layer grows by one.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "potential/native/deep_pot.h"
#include "support/kernel_data.h"
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

struct Scores {
  std::vector<double> atom, sum;
};

Scores scores(Model &model, const Frame &frame)
{
  Scores s{std::vector<double>(frame.nlocal, -1.0), std::vector<double>(2 * H, 0.0)};
  std::vector<double> force(3 * frame.nall());
  ForwardOutput out;
  out.force = force.data();
  out.uncertainty = s.atom.data();
  out.feature_sum = s.sum.data();
  model.forward(frame.domain(), out);
  return s;
}

TEST(FeatureMoments, UncertaintyIsTheLengthOfWhitenedFeatures)
{
  const auto model = make_model();
  const Frame frame = make_frame(1, model->cutoff());
  std::vector<double> w(2 * H * H);
  Numbers random(11);
  for (double &number : w) number = random(-1.0, 1.0);
  model->last_hidden_layer()->set_whitening(w);
  const std::vector<double> f = features(*model, frame);
  const Scores s = scores(*model, frame);
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
    const Scores s = scores(*model, frame);
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

TEST(FeatureMoments, UnseenTypesAreVeryUncertain)
{
  const auto model = make_model();
  FeatureMoments moments(model, world());
  WholeFrame whole = random_frame(1, 40, skewed_box(7.5), true, 1.4);
  std::fill(whole.type.begin(), whole.type.end(), 0);
  moments.add(scatter_frame(world(), whole, model->cutoff()));
  moments.apply();
  const Frame frame = make_frame(1, model->cutoff());
  const Scores s = scores(*model, frame);
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
    return feature_distance(model->last_hidden_layer()->whitening(), sums[a], sums[b], 40);
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
  EXPECT_THROW(scores(*model, frame), Error);  // no matrices yet
  EXPECT_THROW(model->last_hidden_layer()->set_whitening({1.0, 2.0}), Error);
}

}  // namespace
}  // namespace dptrain::test
