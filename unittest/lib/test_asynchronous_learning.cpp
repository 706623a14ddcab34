// Answers that come while the run goes on, and copies of its first configuration that are labeled before it begins.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "dptrain/data/frames_file.h"
#include "session/requests/displaced_copy.h"
#include "support/learning_session.h"

namespace dptrain::test {
namespace {

/// Labels that come while the run goes on: with small thresholds nearly each step asks.
class AsynchronousTest : public LearningSessionTest {
 protected:
  void SetUp() override
  {
    LearningSessionTest::SetUp();
    options_.active = true;
    options_.every = 1;
    options_.training.steps = 10;
    options_.train_share = 1.0;  // what has come is learned at the next step: no clock in the test
    options_.audit = 0;
    options_.holdout = 0;
    options_.duplicate = 0.0;
    options_.accuracy = {1e-07, false};
    options_.limit = 1e6;
    options_.asynchronous = 2;
  }
  /// A reference that is another program.
  LateSource beside(int looks) const
  {
    LateSource source(start_, looks);
    source.beside = true;
    return source;
  }
  /// As a later program that resumes, which has asked for nothing yet.
  void go_on_later()
  {
    new_model();
    options_.files.resume = scratch_ / "x";
  }
  void new_model() { slot_->load(*comm_, scratch_ / "input.json", {"A", "B"}); }
  bool is_file(const char *name) const { return std::filesystem::exists(scratch_ / name); }
  std::vector<WholeFrame> stored() const
  {
    return FramesFile::read(options_.files.frames_path(), -1).frames;
  }
  /// Each frame is there once and has the label of its own configuration.
  void expect_right_labels(const std::vector<WholeFrame> &frames) const
  {
    std::set<std::int64_t> steps;
    for (const WholeFrame &one : frames) {
      EXPECT_TRUE(steps.insert(one.step).second) << one.step << " is there twice";
      const WholeFrame here = frame(static_cast<int>(one.step));
      EXPECT_EQ(one.coord, here.coord);
      EXPECT_EQ(one.label.force, harmonic(start_, here).force);
    }
  }
  /// Runs without an end, as a program that is killed. Returns the steps that the reference moved.
  int run_and_stop(LearningSession &session, int first, int last)
  {
    FrameRun trajectory(slot_);
    int by_reference = 0;
    session.begin_run(first);
    for (int step = first; step < last; ++step) {
      trajectory.show(frame(step));
      session.step(trajectory);
      by_reference += trajectory.model_moves() ? 0 : 1;
    }
    return by_reference;
  }
};

TEST_F(AsynchronousTest, TheRunGoesOnWhileTheReferenceComputes)
{
  LateSource source = beside(4);
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  const int by_reference = run_and_stop(session, 0, 60);
  const int early_waits = source.waits;
  EXPECT_EQ(session.report().in_flight, 2);
  EXPECT_TRUE(is_file("x.requests"));
  EXPECT_LT(by_reference, 30);  // the new model's
  session.end_run(59, "run");   // waits for the two
  EXPECT_GT(source.waits, early_waits);
  EXPECT_EQ(session.report().in_flight, 0);
  EXPECT_FALSE(is_file("x.requests"));
  const std::vector<WholeFrame> frames = stored();
  expect_right_labels(frames);
  EXPECT_EQ(session.report().frames, static_cast<std::int64_t>(frames.size()));
  // two at a time, each for four steps and one in which it is learned
  EXPECT_GT(frames.size(), 2u * (60 - by_reference) / 6);
  EXPECT_LT(frames.size(), by_reference + 2u * (60 - by_reference) / 4 + 2);
  EXPECT_EQ(session.report().steps, options_.training.steps * session.report().frames);
  EXPECT_NE(log_.find("     later "), std::string::npos);
}

TEST_F(AsynchronousTest, TheLogSaysWhereTheRunIs)
{
  LateSource source = beside(4);
  options_.progress_seconds = 0.0;  // at each step
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  run_and_stop(session, 0, 40);
  EXPECT_NE(log_.find("dptrain progress: step 39, " + std::to_string(session.report().in_flight) +
                      " in flight, " + std::to_string(session.report().reference_calls) +
                      " asked, " + std::to_string(session.report().frames) +
                      " frames, largest error bar "),
            std::string::npos);
  EXPECT_EQ(log_.find("dptrain progress: step 40"), std::string::npos);
}

TEST_F(AsynchronousTest, AtTheLimitTheRunWaitsForAllThatIsInFlight)
{
  LateSource early = beside(0);
  options_.files.save = scratch_ / "x.dp";
  options_.files.save_every = 1000000;
  {
    LearningSession session(comm_, slot_, options_, messages(), &early);
    session.start();
    run_and_stop(session, 0, 40);
    session.end_run(39, "run");
  }
  options_.files.resume = options_.files.save;
  options_.accuracy = {1e-07, false};
  options_.limit = 2e-6;  // each step is above
  slot_->load(*comm_, scratch_ / "x.dp", {"A", "B"});
  LateSource late = beside(3);
  LearningSession session(comm_, slot_, options_, messages(), &late);
  session.start();
  FrameRun trajectory(slot_);
  session.begin_run(40);
  for (int step = 40; step < 45; ++step) {
    trajectory.show(frame(step));
    session.step(trajectory);
    EXPECT_EQ(session.report().in_flight, 0) << step;
    EXPECT_EQ(late.submitted, step - 39);
  }
  EXPECT_EQ(late.waits, 3 * late.submitted);
}

TEST_F(AsynchronousTest, ALaterProgramTakesUpWhatIsInFlight)
{
  LateSource first = beside(6), second = beside(2);
  std::int64_t frames_before = 0;
  {
    LearningSession session(comm_, slot_, options_, messages(), &first);
    session.start();
    run_and_stop(session, 0, 40);
    EXPECT_EQ(session.report().in_flight, 2);
    frames_before = session.report().frames;
  }
  go_on_later();
  LearningSession session(comm_, slot_, options_, messages(), &second);
  session.start();
  EXPECT_EQ(second.submitted, 2);
  EXPECT_EQ(session.report().in_flight, 2);
  EXPECT_NE(log_.find("2 configurations that wait for a label are asked for again"),
            std::string::npos);
  session.end_run(39, "run");
  EXPECT_EQ(session.report().frames, frames_before + 2);
  expect_right_labels(stored());
  EXPECT_FALSE(is_file("x.requests"));
}

TEST_F(AsynchronousTest, ALabelThatWasStoredIsNotAskedForAgain)
{
  LateSource first = beside(6), second = beside(0);
  std::size_t frames_before = 0;
  {
    LearningSession session(comm_, slot_, options_, messages(), &first);
    session.start();
    run_and_stop(session, 0, 60);
    std::filesystem::copy_file(scratch_ / "x.requests", scratch_ / "saved");
    session.end_run(59, "run");
    frames_before = stored().size();
  }
  // as if the program had ended between the frame and the requests
  std::filesystem::copy_file(scratch_ / "saved", scratch_ / "x.requests");
  go_on_later();
  LearningSession session(comm_, slot_, options_, messages(), &second);
  session.start();
  EXPECT_EQ(second.submitted, 0);
  EXPECT_EQ(stored().size(), frames_before);
}

TEST_F(AsynchronousTest, RequestsOfAnEarlierRunAreKeptAside)
{
  write_file(scratch_ / "x.requests", "anything");
  LateSource source = beside(0);
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  EXPECT_EQ(read_file(scratch_ / "x.requests.old"), "anything");
  EXPECT_NE(log_.find("x.requests.old"), std::string::npos);
}

TEST_F(AsynchronousTest, ADamagedFileOfRequestsIsNamed)
{
  LateSource first = beside(0), second = beside(0);
  {
    LearningSession session(comm_, slot_, options_, messages(), &first);
    session.start();
    run_and_stop(session, 0, 10);
  }
  write_file(scratch_ / "x.requests", "no HDF5");
  go_on_later();
  LearningSession session(comm_, slot_, options_, messages(), &second);
  EXPECT_NE(message_of([&] { session.start(); }).find("x.requests"), std::string::npos);
}

TEST_F(AsynchronousTest, WhatOutlivesTheProgramIsNotWaitedFor)
{
  LateSource source = beside(6);
  source.outlives = true;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  run_and_stop(session, 0, 60);
  const int waits = source.waits;
  session.end_run(59, "run");
  EXPECT_EQ(source.waits, waits);
  EXPECT_GT(session.report().in_flight, 0);
  EXPECT_TRUE(is_file("x.requests"));
  EXPECT_NE(log_.find("configurations are still with the reference"), std::string::npos);
}

TEST_F(AsynchronousTest, FailuresAreToldAndTheRunGoesOn)
{
  options_.audit = 1;  // each step asks, also when the accuracy is out of reach
  LateSource source = beside(3);
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  run_and_stop(session, 0, 40);
  const std::int64_t frames = session.report().frames;
  source.fails = true;
  run_and_stop(session, 40, 60);
  session.end_run(59, "run");
  EXPECT_LE(session.report().frames, frames);
  EXPECT_GT(session.report().discarded, 3);
  EXPECT_NE(log_.find("is discarded: no luck"), std::string::npos);
  EXPECT_FALSE(is_file("x.requests"));
}

TEST_F(AsynchronousTest, AnotherModelLearnsWhatIsInFlight)
{
  options_.audit = 1;  // each step asks, also when the accuracy is out of reach
  LateSource source = beside(6);
  LearningSession before(comm_, slot_, options_, messages(), &source);
  before.start();
  run_and_stop(before, 0, 60);
  const std::int64_t frames = before.report().frames;
  new_model();
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start(&before);
  EXPECT_EQ(session.report().in_flight, 2);
  session.end_run(59, "run");
  EXPECT_EQ(session.report().frames, frames + 2);
  expect_right_labels(stored());
}

// `every` is for a model that is known: until then several clients have nothing to do.
TEST_F(AsynchronousTest, ANewModelIsComparedAtEachStep)
{
  const auto early_steps = [this](int asynchronous) {
    LateSource source = beside(0);
    options_.every = 3;
    options_.asynchronous = asynchronous;
    options_.files.frames = scratch_ / (std::to_string(asynchronous) + ".frames");
    new_model();
    LearningSession session(comm_, slot_, options_, messages(), &source);
    session.start();
    return run_and_stop(session, 0, 40);
  };
  EXPECT_EQ(early_steps(0),
            15);  // three labels make the model, three more compare it: steps 0, 3, ..., 15
  EXPECT_EQ(early_steps(2), 9);  // 0, 3, 6, and then 7, 8, 9
}

// The first step at which the model decides has twice the threshold: above the lower limit and below the other one.
TEST_F(AsynchronousTest, TheLimitOfAGrowingModelIsLower)
{
  const auto expected_there = [this](int asynchronous, double threshold, double limit) {
    LateSource source = beside(0);
    options_.asynchronous = asynchronous;
    options_.accuracy = {threshold / 10.0, false};
    options_.limit = limit;
    std::filesystem::remove(options_.files.frames);
    new_model();
    LearningSession session(comm_, slot_, options_, messages(), &source);
    session.start();
    log_.clear();
    run_and_stop(session, 0, 7);  // three labels make the model, and three compare it
    return session.report().expected_error;
  };
  const double expected = expected_there(0, 1e6, 1e6);
  ASSERT_GT(expected, 0.0);
  EXPECT_EQ(expected_there(0, 0.5 * expected, 0.0), expected);
  EXPECT_NE(log_.find("         6 threshold "), std::string::npos) << log_;
  expected_there(2, 0.5 * expected, 0.0);
  EXPECT_NE(log_.find("         6     limit "), std::string::npos) << log_;
}

/// Displaced copies of the first configuration, before the run.
class PreparedTest : public AsynchronousTest {
 protected:
  void SetUp() override
  {
    AsynchronousTest::SetUp();
    options_.prepare.copies = 5;
    options_.files.save = scratch_ / "x.dp";
    options_.files.save_every = 1000000;
  }
  /// Number of copies among the frames; each has its own label.
  std::int64_t num_copies(const std::vector<WholeFrame> &frames) const
  {
    return std::count_if(frames.begin(), frames.end(), [this](const WholeFrame &one) {
      EXPECT_EQ(one.label.force, harmonic(start_, one).force);
      return one.step == 0 && one.coord != frame(0).coord;
    });
  }
};

TEST_F(PreparedTest, CopiesAreLabeledAllAtOnce)
{
  LateSource source = beside(4);
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  const int by_reference = run_and_stop(session, 0, 20);
  EXPECT_EQ(by_reference, 3);            // after the label of step 3 the model is known
  EXPECT_EQ(source.waits, 4 * (1 + 4));  // all copies side by side, then steps 0 to 3
  EXPECT_EQ(num_copies(stored()), 4);    // the first of five is the configuration itself
  EXPECT_NE(log_.find("         0   prepare "), std::string::npos);
  EXPECT_NE(log_.find("new model from 3 frames"), std::string::npos);
  // they are not asked for again
  const std::int64_t calls = session.report().reference_calls;
  session.end_run(19, "run");
  options_.files.resume = options_.files.save;
  LateSource second = beside(0);
  slot_->load(*comm_, scratch_ / "x.dp", {"A", "B"});
  LearningSession later(comm_, slot_, options_, messages(), &second);
  later.start();
  run_and_stop(later, 20, 22);
  EXPECT_LE(later.report().reference_calls, calls + 2);
}

TEST_F(PreparedTest, AGivenModelMovesAsItHasLearned)
{
  LateSource source = beside(0);
  {
    LearningSession session(comm_, slot_, options_, messages(), &source);
    session.start();
    run(session, 20);
  }
  options_.accuracy = {1e5, false};  // the first step does not ask
  options_.files.save = scratch_ / "y.dp";
  slot_->load(*comm_, scratch_ / "x.dp", {"A", "B"});
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  FrameRun trajectory(slot_);
  session.begin_run(0);
  trajectory.show(frame(0));
  const double before = trajectory.values().energy;
  session.step(trajectory);
  EXPECT_EQ(num_copies(stored()), 4);  // the first of five is the configuration itself
  EXPECT_TRUE(trajectory.model_moves());
  const double energy = trajectory.values().energy;
  EXPECT_NE(energy, before);
  trajectory.evaluate_again();
  EXPECT_EQ(trajectory.energy(), energy);
}

TEST_F(PreparedTest, ACopyWithoutLabelIsToldAndLeftOut)
{
  LateSource source = beside(0);
  source.fails = true;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  EXPECT_NE(message_of([&] { run_and_stop(session, 0, 1); }).find("the model is not trained yet"),
            std::string::npos);  // the first step's own label
  EXPECT_EQ(session.report().discarded, 5);
}

TEST_F(PreparedTest, AProgramThatEndsLeavesThemToALaterOne)
{
  LateSource first = beside(100), second = beside(2);
  first.ends = true;
  {
    LearningSession session(comm_, slot_, options_, messages(), &first);
    session.start();
    EXPECT_EQ(message_of([&] { run_and_stop(session, 0, 1); }), "the program ends");
  }
  EXPECT_FALSE(is_file("x.dp.frames"));
  options_.files.resume = options_.files.save;
  LearningSession session(comm_, slot_, options_, messages(), &second);
  session.start();
  EXPECT_EQ(second.submitted, 5);
  const int by_reference = run_and_stop(session, 0, 20);
  EXPECT_EQ(num_copies(stored()), 4);  // the first of five is the configuration itself
  EXPECT_LE(second.submitted, 5 + 20);
  EXPECT_GT(by_reference, 0);
  EXPECT_LT(by_reference, 10);
}

TEST(DisplacedCopy, IsAsFarAsTheOptionsSay)
{
  WholeFrame start =
      random_frame(5, 600, {15.0, 0.0, 0.0, 1.0, 14.0, 0.0, 2.0, -1.0, 16.0}, true, 0.5);
  PrepareOptions options;
  options.copies = 4;
  const auto width = [&](const WholeFrame &copy) {
    double squares = 0.0;
    for (std::size_t k = 0; k < copy.coord.size(); ++k)
      squares += std::pow(copy.coord[k] - start.coord[k], 2);
    return std::sqrt(squares / static_cast<double>(copy.coord.size()));
  };
  for (int k = 0; k < 4; ++k) {  // of 1800 numbers: 2 % is the error of such a width
    const WholeFrame copy = displaced_copy(start, options, k, 1);
    EXPECT_NEAR(width(copy), 0.05 * k / 3, 0.02 * 0.05 * k / 3 * 3);
    EXPECT_EQ(copy.box, start.box);
    EXPECT_EQ(copy.coord, displaced_copy(start, options, k, 1).coord);
    EXPECT_EQ(copy.coord == displaced_copy(start, options, k, 2).coord, k == 0);
  }
  // strained alone: places in units of the cell stay, and the box keeps its orientation
  options.displace = 0.0;
  options.strain = 0.05;
  const WholeFrame copy = displaced_copy(start, options, 3, 1);
  for (const int k : {1, 2, 5}) EXPECT_EQ(copy.box[k], 0.0);
  double largest = 0.0;
  for (const int k : {0, 4, 8})
    largest = std::max(largest, std::fabs(copy.box[k] / start.box[k] - 1.0));
  EXPECT_LE(largest, 0.05);
  EXPECT_GT(largest, 0.001);
  for (std::size_t i = 0; i < start.coord.size(); i += 3) {
    const auto inside = [i](const WholeFrame &frame) {
      const std::array<double, 9> &b = frame.box;
      const double w = frame.coord[i + 2] / b[8], v = (frame.coord[i + 1] - w * b[7]) / b[4];
      return std::array<double, 3>{(frame.coord[i] - v * b[3] - w * b[6]) / b[0], v, w};
    };
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(inside(copy)[k], inside(start)[k], 1e-12);
  }
  start.box = {15.0, 0.0, 0.0, 0.0, 14.0, 0.0, 0.0, 0.0, 16.0};  // an orthogonal cell stays one
  const WholeFrame stretched = displaced_copy(start, options, 3, 1);
  for (int k = 0; k < 9; ++k) EXPECT_EQ(stretched.box[k] == start.box[k], k % 4 != 0);
  start.periodic = false;
  EXPECT_EQ(displaced_copy(start, options, 3, 1).coord, start.coord);
}

TEST_F(AsynchronousTest, OptionsThatMakeNoSenseAreNamed)
{
  LateSource source = beside(0);
  const auto error = [&](auto change, LateSource &asked) {
    LearningOptions options = options_;
    change(options);
    return message_of([&] { LearningSession(comm_, slot_, options, messages(), &asked); });
  };
  EXPECT_NE(error([](auto &o) { o.asynchronous = -1; }, source).find("asynchronous -1"),
            std::string::npos);
  EXPECT_NE(error([](auto &o) { o.train_share = 0.0; }, source).find("train_share 0"),
            std::string::npos);
  EXPECT_NE(error([](auto &o) { o.follow_reference = true; }, source).find("asynchronous"),
            std::string::npos);
  EXPECT_NE(error([](auto &o) { o.active = false; }, source).find("mode active"),
            std::string::npos);
  LateSource at_once(start_, 0);
  EXPECT_NE(error([](auto &) {}, at_once).find("computes labels at once"), std::string::npos);
}

}  // namespace
}  // namespace dptrain::test
