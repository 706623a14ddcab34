#include "dptrain/potential/model/parameter_set.h"

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "dptrain/potential/model/atom_features.h"

namespace dptrain::test {
namespace {

using Vec = std::vector<double>;

ParameterSet three_blocks()
{
  return {{{"a", {2}, 0, 2, true}, {"b", {1, 3}, 2, 3, false}, {"c", {1}, 5, 1, true}},
          {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}};
}

TEST(ParameterSet, EachChangeIsANewVersion)
{
  ParameterSet set = three_blocks();
  const ParameterSet same = three_blocks();
  EXPECT_NE(set.version(), same.version());  // no other set has it, whatever its content
  std::uint64_t version = set.version();
  set.change([](Vec &values) { values[3] = 0.5; });
  EXPECT_EQ(set.values(), (Vec{1.0, 2.0, 3.0, 0.5, 5.0, 6.0}));
  EXPECT_GT(set.version(), version);
  version = set.version();
  set.set(same.values());
  EXPECT_EQ(set.values(), same.values());
  EXPECT_GT(set.version(), version);
  version = set.version();
  EXPECT_THROW(set.change([](Vec &values) {
    values[0] = 7.0;
    throw Error("halfway");
  }),
               Error);
  EXPECT_GT(set.version(), version);
}

TEST(ParameterSet, WhatIsTrained)
{
  ParameterSet set = three_blocks();
  const std::uint64_t version = set.version();
  EXPECT_EQ(set.num_trainable(), 3u);
  set.set_trainable({0, 1, 1});
  EXPECT_EQ(set.trainable(), (std::vector<char>{0, 1, 1}));
  EXPECT_TRUE(set.blocks()[1].trainable);
  EXPECT_EQ(set.num_trainable(), 4u);
  set.set_trainable({});
  EXPECT_EQ(set.trainable(), (std::vector<char>{1, 0, 1}));
  EXPECT_EQ(set.version(), version);  // the values are the same
}

TEST(ParameterSet, OtherNumbersOfValuesAreErrors)
{
  ParameterSet set = three_blocks();
  EXPECT_THROW(set.set({1.0, 2.0}), Error);
  EXPECT_EQ(set.size(), 6u);
  EXPECT_THROW(ParameterSet({{"a", {2}, 0, 2, true}}, {1.0}), Error);
}

TEST(AtomFeatures, HoldWhatFitsAndKnowWhenItChanged)
{
  AtomFeatures features(2, 3, true);
  EXPECT_TRUE(features.metric().empty());
  const std::uint64_t version = features.version();
  EXPECT_THROW(features.set_metric({Vec(6), Vec(17)}), Error);
  EXPECT_THROW(features.set_metric({Vec(5), Vec(18)}), Error);
  EXPECT_EQ(features.version(), version);
  const FeatureMetric metric{Vec(6, 0.1), Vec(18, 0.5)};
  features.set_metric(metric);
  EXPECT_EQ(features.metric(), metric);
  EXPECT_EQ(features.version(), version + 1);
}

}  // namespace
}  // namespace dptrain::test
