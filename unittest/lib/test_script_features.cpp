// Uncertainties of TorchScript potentials: what rests on the outputs of their last hidden layer.

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "support/scratch.h"
#include "support/script_case.h"

namespace dptrain::test {

namespace {

constexpr int H = PlainToy::hidden, TYPES = 2;

std::vector<double> numbers(std::size_t n, unsigned seed)
{
  Numbers random(seed);
  std::vector<double> values(n);
  for (double &value : values) value = random(-1, 1);
  return values;
}

class ScriptFeatures : public testing::TestWithParam<std::string> {
 protected:
  ScriptToy toy_ = script_toy_named(GetParam());
  std::shared_ptr<Model> model_ = script_model(toy_);
  Frame frame_ = one_rank_frame(script_frame());
  std::vector<double> whitening_ = numbers(TYPES * H * H, 31);
};

}  // namespace

// Rounding: 1e-12.
TEST_P(ScriptFeatures, AreThoseOfTheDefinition)
{
  ASSERT_EQ(model_->last_hidden_layer()->num_features(), H);
  const auto f = PlainToy(toy_, *model_).features(frame_.domain());
  std::vector<double> norm, sum(TYPES * H), covariance(TYPES * H * H);
  for (int i = 0; i < frame_.nlocal; ++i) {
    const int t = frame_.type[i];
    double square = 0.0;
    for (int c = 0; c < H; ++c) {
      double component = 0.0;
      for (int b = 0; b < H; ++b) {
        component += f[i][b] * whitening_[(t * H + b) * H + c];
        covariance[(t * H + b) * H + c] += f[i][b] * f[i][c];
      }
      square += component * component;
      sum[t * H + c] += f[i][c];
    }
    norm.push_back(std::sqrt(square));
  }
  model_->last_hidden_layer()->set_whitening(whitening_);
  EXPECT_EQ(model_->last_hidden_layer()->whitening(), whitening_);
  EXPECT_EQ(model_->data().whitening, whitening_);
  for (const int chunk : {0, 1, 7, 1000}) {
    model_->set_chunk(chunk);
    const ScriptResult found = script_results(*model_, frame_.domain(), true);
    expect_same(norm, found.uncertainty, 1e-12, "uncertainty");
    expect_same(sum, found.feature_sum, 1e-12, "sums of features");
    expect_same(covariance, found.covariance, 1e-12, "covariance");
  }
}

// Energies are linear in w2: forces of changed weights are those of the model with them, less its own; to rounding.
TEST_P(ScriptFeatures, SampledForcesAreThoseOfChangedWeights)
{
  const int samples = 3;
  const std::vector<double> changes = numbers(samples * TYPES * H, 17);
  model_->last_hidden_layer()->set_weight_samples(changes);
  std::vector<double> expected;
  const ScriptResult plain = script_results(*model_, frame_.domain());
  std::size_t w2 = 0;
  for (const ParameterBlock &block : model_->parameters().blocks())
    if (block.name.find("w2") != std::string::npos) w2 = block.offset;
  const std::vector<double> before = model_->parameters().values();
  for (int k = 0; k < samples; ++k) {
    std::vector<double> p = before;
    for (int c = 0; c < TYPES * H; ++c) p[w2 + c] += changes[k * TYPES * H + c];
    model_->parameters().set(p);
    const ScriptResult changed = script_results(*model_, frame_.domain());
    for (std::size_t c = 0; c < plain.force.size(); ++c)
      expected.push_back(changed.force[c] - plain.force[c]);
  }
  model_->parameters().set(before);
  for (const int chunk : {0, 1, 7}) {
    model_->set_chunk(chunk);
    const ScriptResult found = script_results(*model_, frame_.domain(), false, samples);
    expect_same(expected, found.sampled_force, 1e-11, "sampled forces");
    expect_same(plain.force, found.force, 1e-12, "forces");  // as without samples
  }
}

// and differences of f dw, which know nothing of the model's energy: h^2 = 1e-10
TEST_P(ScriptFeatures, SampledForcesAreDifferencesOfFeatures)
{
  const std::vector<double> change = numbers(TYPES * H, 19);
  model_->last_hidden_layer()->set_weight_samples(change);
  const ScriptResult found = script_results(*model_, frame_.domain(), false, 1);
  const PlainToy plain(toy_, *model_);
  const auto added = [&] {
    const auto f = plain.features(frame_.domain());
    double sum = 0.0;
    for (int i = 0; i < frame_.nlocal; ++i)
      for (int c = 0; c < H; ++c) sum += f[i][c] * change[frame_.type[i] * H + c];
    return sum;
  };
  std::vector<double> expected;
  for (double &x : frame_.x) {
    const double keep = x;
    x = keep + 1e-5;
    const double plus = added();
    x = keep - 1e-5;
    expected.push_back(-(plus - added()) / 2e-5);
    x = keep;
  }
  expect_same(expected, found.sampled_force, 1e-8, "sampled forces");
}

INSTANTIATE_TEST_SUITE_P(Toys, ScriptFeatures,
                         testing::Values("features", "messages_features", "padding"),
                         [](const auto &info) { return info.param; });

TEST(ScriptUncertainty, ErrorsSayWhatIsMissing)
{
  const Frame frame = one_rank_frame(script_frame());
  const auto without = script_model({});
  expect_in("DeePMD-kit 3.2", message_of([&] { script_results(*without, frame.domain(), true); }));
  EXPECT_EQ(without->last_hidden_layer(), nullptr);
  const auto with = script_model(script_toy_named("features"));
  expect_in("32 numbers", message_of([&] {
              with->last_hidden_layer()->set_whitening({1.0, 2.0});
            }));
  expect_in("8 numbers", message_of([&] {
              with->last_hidden_layer()->set_weight_samples({1.0, 2.0});
            }));
  expect_in("no samples", message_of([&] { script_results(*with, frame.domain(), false, 1); }));
}

}  // namespace dptrain::test
