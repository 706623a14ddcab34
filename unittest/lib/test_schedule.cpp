// The learning rate against DeePMD-kit's formulas and its lcurve.out.

#include "training/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "support/scratch.h"

namespace dptrain::test {

TEST(Schedule, ReproducesALearningCurveOfDeepmd)
{
  // start_lr 3e-3, stop_lr 1e-4, decay_steps 5, 50 steps: column lr of DeePMD-kit 3.2 (2 digits) at these steps
  ScheduleConfig config;
  config.start_lr = 3e-3;
  config.stop_lr = 1e-4;
  config.decay_steps = 5;
  const Schedule schedule(config, 50);
  const int steps[] = {1, 10, 20, 30, 40, 50};
  const double rates[] = {3.0e-3, 2.1e-3, 1.1e-3, 5.5e-4, 2.8e-4, 1.4e-4};
  for (int k = 0; k < 6; ++k)
    EXPECT_NEAR(schedule.rate(steps[k] - 1), rates[k], 0.025 * rates[k]) << steps[k];
  // one stair = one tenth of the way in the logarithm
  EXPECT_NEAR(schedule.rate(49), 3e-3 * std::pow(1.0 / 30.0, 0.9), 1e-16);
  EXPECT_DOUBLE_EQ(schedule.rate(1000), 1e-4);
}

TEST(Schedule, LongStairsAreShortened)
{
  ScheduleConfig config;  // decay_steps 5000, stop_lr 5e-8
  const Schedule schedule(config, 2000);
  EXPECT_DOUBLE_EQ(schedule.rate(99), 1e-3);  // 2000 / 10 > 100: stairs of 100 steps
  EXPECT_NEAR(schedule.rate(100), 1e-3 * std::pow(5e-5, 0.05), 1e-15);
  const Schedule brief(config, 500);  // else of 500 / 100 + 1 steps
  EXPECT_DOUBLE_EQ(brief.rate(5), 1e-3);
  EXPECT_NEAR(brief.rate(6), 1e-3 * std::pow(5e-5, 6.0 / 500), 1e-15);
}

TEST(Schedule, SmoothDecayAndGivenRate)
{
  ScheduleConfig config;
  config.smooth = true;
  config.decay_steps = 10;
  config.decay_rate = 0.5;
  config.stop_lr_ratio = 0.01;
  const Schedule schedule(config, 100);
  EXPECT_NEAR(schedule.rate(5), 1e-3 * std::sqrt(0.5), 1e-17);
  EXPECT_DOUBLE_EQ(schedule.rate(99), 1e-5);
}

TEST(Schedule, CosineWithWarmUp)
{
  ScheduleConfig config;
  config.type = ScheduleType::cosine;
  config.stop_lr = 1e-5;
  config.warmup_ratio = 0.1;
  config.warmup_start_factor = 0.2;
  const Schedule schedule(config, 200);
  EXPECT_DOUBLE_EQ(schedule.rate(0), 2e-4);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 6e-4);
  EXPECT_DOUBLE_EQ(schedule.rate(20), 1e-3);
  EXPECT_NEAR(schedule.rate(20 + 90), 1e-5 + 0.5 * (1e-3 - 1e-5), 1e-18);
  EXPECT_NEAR(schedule.rate(20 + 60), 1e-5 + 0.75 * (1e-3 - 1e-5), 1e-17);
  EXPECT_DOUBLE_EQ(schedule.rate(200), 1e-5);
  EXPECT_DOUBLE_EQ(schedule.rate(5000), 1e-5);
}

// unittest/reference/schedule: DeePMD-kit's classes for a grid of settings
TEST(Schedule, IsDeepmds)
{
  const auto expected =
      nlohmann::json::parse(read_file(DPTRAIN_TEST_DATA "/schedule/expected.json"));
  const std::map<std::string, ScheduleType> types{{"exp", ScheduleType::exponential},
                                                  {"cosine", ScheduleType::cosine},
                                                  {"wsd", ScheduleType::wsd}};
  for (const auto &test : expected.at("cases")) {
    const auto &section = test.at("learning_rate");
    ScheduleConfig config;
    config.type = types.at(section.at("type"));
    config.start_lr = section.at("start_lr");
    if (section.contains("stop_lr")) config.stop_lr = section.at("stop_lr").get<double>();
    if (section.contains("stop_lr_ratio"))
      config.stop_lr_ratio = section.at("stop_lr_ratio").get<double>();
    if (section.contains("decay_rate")) config.decay_rate = section.at("decay_rate").get<double>();
    if (section.contains("warmup_ratio"))
      config.warmup_ratio = section.at("warmup_ratio").get<double>();
    config.decay_steps = section.value("decay_steps", config.decay_steps);
    config.smooth = section.value("smooth", config.smooth);
    config.warmup_steps = section.value("warmup_steps", config.warmup_steps);
    config.warmup_start_factor = section.value("warmup_start_factor", config.warmup_start_factor);
    config.decay_phase_ratio = section.value("decay_phase_ratio", config.decay_phase_ratio);
    config.decay_type = section.value("decay_type", config.decay_type);
    const Schedule schedule(config, test.at("numb_steps"));
    for (std::size_t k = 0; k < test.at("steps").size(); ++k) {
      const double rate = test.at("rates")[k];
      // powers up to r^200, whose logarithm is rounded in another order
      EXPECT_NEAR(schedule.rate(test.at("steps")[k]), rate, 1e-13 * rate)
          << section.dump() << " " << test.at("numb_steps") << " step " << test.at("steps")[k];
    }
  }
}

TEST(Schedule, ContradictionsAreNamed)
{
  const auto message = [](auto change, std::int64_t steps = 100) {
    ScheduleConfig config;
    change(config);
    return message_of([&] { Schedule(config, steps); });
  };
  expect_in("start_lr", message([](ScheduleConfig &c) { c.start_lr = 0.0; }));
  expect_in("not both", message([](ScheduleConfig &c) { c.stop_lr = c.stop_lr_ratio = 0.1; }));
  expect_in("not both", message([](ScheduleConfig &c) {
              c.warmup_steps = 5;
              c.warmup_ratio = 0.1;
            }));
  expect_in("decay_steps", message([](ScheduleConfig &c) { c.decay_steps = 0; }));
  const auto wsd = [](ScheduleConfig &c) { c.type = ScheduleType::wsd; };
  expect_in("decay_phase_ratio", message([&](ScheduleConfig &c) {
              wsd(c);
              c.decay_phase_ratio = 1.5;
            }));
  expect_in("decay_type", message([&](ScheduleConfig &c) {
              wsd(c);
              c.decay_type = "steep";
            }));
  expect_in("stop_lr", message([&](ScheduleConfig &c) {
              wsd(c);
              c.stop_lr = 0.0;
            }));
  expect_in("warm-up", message([](ScheduleConfig &c) { c.warmup_steps = 100; }));
}

}  // namespace dptrain::test
