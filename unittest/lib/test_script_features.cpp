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
  FeatureMetric metric_{std::vector<double>(TYPES * H), numbers(TYPES *H *H, 31)};
};

}  // namespace

// Rounding: 1e-12.
TEST_P(ScriptFeatures, AreThoseOfTheDefinition)
{
  ASSERT_EQ(model_->features()->number(), H);
  const auto f = PlainToy(toy_, *model_).features(frame_.domain());
  std::vector<double> norm, sum(TYPES * H), covariance(TYPES * H * H);
  for (int i = 0; i < frame_.nlocal; ++i) {
    const int t = frame_.type[i];
    double square = 0.0;
    for (int c = 0; c < H; ++c) {
      double component = 0.0;
      for (int b = 0; b < H; ++b) {
        component += f[i][b] * metric_.matrices[(t * H + b) * H + c];
        covariance[(t * H + b) * H + c] += f[i][b] * f[i][c];
      }
      square += component * component;
      sum[t * H + c] += f[i][c];
    }
    norm.push_back(std::sqrt(square));
  }
  model_->features()->set_metric(metric_);
  EXPECT_EQ(model_->features()->metric(), metric_);
  EXPECT_EQ(model_->data().metric, metric_);
  for (const int chunk : {0, 1, 7, 1000}) {
    model_->set_chunk(chunk);
    const ScriptResult found = script_results(*model_, frame_.domain(), true);
    expect_same(norm, found.bar, 1e-12, "distances");
    expect_same(sum, found.feature_sum, 1e-12, "sums of features");
    expect_same(covariance, found.covariance, 1e-12, "covariance");
  }
  // calibrated: by type
  const std::vector<double> scale = {0.5, 2.0};
  model_->set_bars({scale, 0.9, 10, {5, 5}, "10 labels"});
  for (int i = 0; i < frame_.nlocal; ++i) norm[i] *= scale[frame_.type[i]];
  expect_same(norm, script_results(*model_, frame_.domain(), true).bar, 1e-12, "bars");
}

INSTANTIATE_TEST_SUITE_P(Toys, ScriptFeatures,
                         testing::Values("features", "messages_features", "padding"),
                         [](const auto &info) { return info.param; });

TEST(ScriptBars, ErrorsSayWhatIsMissing)
{
  const Frame frame = one_rank_frame(script_frame());
  const auto without = script_model({});
  expect_in("DeePMD-kit 3.2", message_of([&] { script_results(*without, frame.domain(), true); }));
  EXPECT_EQ(without->features(), nullptr);
  const auto with = script_model(script_toy_named("features"));
  expect_in("32 and 8 numbers", message_of([&] {
              with->features()->set_metric({{}, {1.0, 2.0}});
            }));
}

}  // namespace dptrain::test
