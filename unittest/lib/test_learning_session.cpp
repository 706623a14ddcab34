// A learning session with an engine and a reference of the test's own: what is asked, stored, learned and followed.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/session/learning_session.h"
#include "io/file.h"
#include "session/displaced_copy.h"
#include "session/reference_desk.h"
#include "session/training_pace.h"
#include "support/random_frame.h"
#include "support/scratch.h"

namespace dptrain::test {
namespace {

constexpr double edge = 7.0;  // Angstrom

const char *const input = R"({
  "model": {
    "type_map": ["A", "B"],
    "descriptor": {"type": "se_e2_a", "rcut": 3.0, "rcut_smth": 1.0, "neuron": [4, 8], "axis_neuron": 2, "seed": 1},
    "fitting_net": {"neuron": [8, 8], "seed": 1}
  },
  "loss": {"start_pref_e": 1, "limit_pref_e": 1, "start_pref_f": 10, "limit_pref_f": 10},
  "training": {"numb_steps": 1000, "seed": 1}
})";

/// Atoms in harmonic wells of their own, around the places of the first frame.
Label harmonic(const WholeFrame &start, const WholeFrame &frame)
{
  Label label;
  label.energy = 0.0;
  label.virial.emplace();
  for (std::size_t k = 0; k < frame.coord.size(); ++k) {
    const double x = frame.coord[k] - start.coord[k];
    *label.energy += x * x;
    label.force.push_back(-2.0 * x);
  }
  return label;
}

/// Answers after so many looks, in another order than it was asked.
class LateSource final : public LabelSource {
 public:
  LateSource(WholeFrame start, int looks) : start_(std::move(start)), looks_(looks) {}
  std::int64_t submit(const WholeFrame &frame) override
  {
    open_[++submitted] = {frame, looks_};
    return submitted;
  }
  std::vector<LabelAnswer> poll() override
  {
    std::vector<LabelAnswer> answers;
    for (auto it = open_.begin(); it != open_.end();) {
      if (it->second.second-- > 0) {
        ++it;
        continue;
      }
      LabelAnswer answer;
      answer.request = it->first;
      if (fails)
        answer.failure = "no luck";
      else
        answer.label = harmonic(start_, it->second.first);
      answers.push_back(answer);
      it = open_.erase(it);
    }
    return answers;
  }
  void wait(double) override
  {
    if (ends) throw Error("the program ends");
    ++waits;
  }
  void cancel(std::int64_t request) override { open_.erase(request); }
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(open_.size()); }
  bool works_beside() const override { return beside; }
  bool outlives_program() const override { return outlives; }

  std::int64_t submitted = 0;
  int waits = 0;
  bool fails = false, beside = false, outlives = false, ends = false;

 private:
  WholeFrame start_;
  int looks_;
  std::map<std::int64_t, std::pair<WholeFrame, int>> open_;
};

class LearningSessionTest : public testing::Test {
 protected:
  const Scratch scratch_;
  const std::shared_ptr<const Communicator> comm_ = make_mpi_communicator();
  const std::shared_ptr<ModelSlot> slot_ = std::make_shared<ModelSlot>();
  const WholeFrame start_ =
      random_frame(5, 8, {edge, 0.0, 0.0, 0.0, edge, 0.0, 0.0, 0.0, edge}, true, 1.6);
  std::string log_;
  LearningOptions options_;

  void SetUp() override
  {
    write_file(scratch_ / "input.json", input);
    slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
    options_.every = 2;
    options_.warmup = 3;
    options_.train = 5;
    options_.frames = scratch_ / "x.frames";
    options_.disp = scratch_ / "lcurve.out";
    options_.disp_every = 1;
  }
  Messages messages()
  {
    const auto say = [this](const std::string &text) { log_ += text + "\n"; };
    return {say, say, say};
  }
  WholeFrame frame(int step) const
  {
    Numbers random(100 + step);
    WholeFrame frame = start_;
    frame.step = step;
    frame.label = {};
    for (double &x : frame.coord) x += random(-0.1, 0.1);
    return frame;
  }
  /// Energies with which the run goes on from each of so many steps.
  std::vector<double> run(LearningSession &session, int steps)
  {
    FrameRun trajectory(slot_);
    std::vector<double> energies;
    session.begin_run(0);
    for (int step = 0; step < steps; ++step) {
      trajectory.show(frame(step));
      session.step(trajectory);
      energies.push_back(trajectory.values().energy);
    }
    session.end_run(steps - 1, "run");
    return energies;
  }
};

TEST_F(LearningSessionTest, ALateAnswerIsWaitedForAndChangesNothing)
{
  LateSource at_once(start_, 0), late(start_, 3);
  LearningSession first(comm_, slot_, options_, messages(), &at_once);
  first.start();
  const std::vector<double> energies = run(first, 10);
  EXPECT_EQ(at_once.waits, 0);

  slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
  options_.frames = scratch_ / "y.frames";
  LearningSession second(comm_, slot_, options_, messages(), &late);
  second.start();
  EXPECT_EQ(run(second, 10), energies);
  EXPECT_EQ(late.waits, 3 * late.submitted);
  EXPECT_EQ(late.submitted, at_once.submitted);
}

TEST_F(LearningSessionTest, EachLabelIsThatOfItsOwnConfiguration)
{
  LateSource source(start_, 2);
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  const std::vector<double> energies = run(session, 10);
  const std::vector<WholeFrame> stored = FramesFile::read(options_.frames, -1);
  ASSERT_EQ(stored.size(), 5u);  // steps 0, 2, ..., 8
  for (const WholeFrame &one : stored) {
    const WholeFrame here = frame(static_cast<int>(one.step));
    const Label label = harmonic(start_, here);
    EXPECT_EQ(one.coord, here.coord);
    EXPECT_EQ(one.label.force, label.force);
    EXPECT_EQ(*one.label.energy, *label.energy);
  }
  // until the third label, of step 4, has been learned the reference moves the atoms
  for (int step = 0; step < 5; ++step)
    EXPECT_EQ(energies[step], *harmonic(start_, frame(step)).energy);
  EXPECT_NE(energies[5], *harmonic(start_, frame(5)).energy);
  EXPECT_EQ(session.report().reference_calls, 7);  // steps 0 to 4, 6, 8
  EXPECT_EQ(session.report().frames, 5);
  EXPECT_EQ(session.report().steps, 25);
}

TEST_F(LearningSessionTest, FailuresAreToldAndCounted)
{
  LateSource source(start_, 0);
  options_.failure_stops = true;
  source.fails = true;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  FrameRun trajectory(slot_);
  trajectory.show(frame(0));
  EXPECT_NE(message_of([&] { session.step(trajectory); }).find("no label at step 0: no luck"),
            std::string::npos);
  EXPECT_EQ(session.report().frames, 0);
}

TEST_F(LearningSessionTest, AnActiveSessionAsksLessAndLess)
{
  LateSource source(start_, 1);
  options_.active = true;
  options_.every = 1;
  options_.train = 40;
  options_.audit = 0;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  run(session, 60);
  const LearningReport report = session.report();
  EXPECT_LT(report.reference_calls, 60);
  EXPECT_GE(report.frames, 3);
  EXPECT_GT(report.threshold, 0.0);
  EXPECT_NE(log_.find("new model from 3 frames"), std::string::npos);
  EXPECT_NE(log_.find("run: 59 steps"), std::string::npos);
}

/// Labels that come while the run goes on: with small thresholds nearly each step asks.
class AsynchronousTest : public LearningSessionTest {
 protected:
  void SetUp() override
  {
    LearningSessionTest::SetUp();
    options_.active = true;
    options_.every = 1;
    options_.train = 10;
    options_.train_share = 1.0;  // what has come is learned at the next step: no clock in the test
    options_.audit = 0;
    options_.holdout = 0;
    options_.duplicate = 0.0;
    options_.threshold = 1e-6;
    options_.limit = 1e6;
    options_.asynchronous = 2;
  }
  bool is_file(const char *name) const { return std::filesystem::exists(scratch_ / name); }
  std::vector<WholeFrame> stored() const { return FramesFile::read(options_.frames_path(), -1); }
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
  LateSource source(start_, 4);
  source.beside = true;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  const int by_reference = run_and_stop(session, 0, 60);
  const int young_waits = source.waits;
  EXPECT_EQ(session.report().in_flight, 2);
  EXPECT_TRUE(is_file("x.requests"));
  EXPECT_LT(by_reference, 30);  // the young model's
  session.end_run(59, "run");   // waits for the two
  EXPECT_GT(source.waits, young_waits);
  EXPECT_EQ(session.report().in_flight, 0);
  EXPECT_FALSE(is_file("x.requests"));
  const std::vector<WholeFrame> frames = stored();
  expect_right_labels(frames);
  EXPECT_EQ(session.report().frames, static_cast<std::int64_t>(frames.size()));
  // two at a time, each for four steps and one in which it is learned
  EXPECT_GT(frames.size(), 2u * (60 - by_reference) / 6);
  EXPECT_LT(frames.size(), by_reference + 2u * (60 - by_reference) / 4 + 2);
  EXPECT_EQ(session.report().steps, options_.train * session.report().frames);
  EXPECT_NE(log_.find("     later "), std::string::npos);
}

TEST_F(AsynchronousTest, TheLogSaysWhereTheRunIs)
{
  LateSource source(start_, 4);
  source.beside = true;
  options_.progress_seconds = 0.0;  // at each step
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  run_and_stop(session, 0, 40);
  EXPECT_NE(log_.find("dptrain progress: step 39, " + std::to_string(session.report().in_flight) +
                      " in flight, " + std::to_string(session.report().reference_calls) +
                      " asked, " + std::to_string(session.report().frames) +
                      " frames, expected error "),
            std::string::npos);
  EXPECT_EQ(log_.find("dptrain progress: step 40"), std::string::npos);
}

TEST_F(AsynchronousTest, AtTheLimitTheRunWaitsForAllThatIsInFlight)
{
  LateSource source(start_, 1000000);
  source.beside = true;
  LateSource young(start_, 0);
  young.beside = true;
  options_.save = scratch_ / "x.dp";
  options_.save_every = 1000000;
  {
    LearningSession session(comm_, slot_, options_, messages(), &young);
    session.start();
    run_and_stop(session, 0, 40);
    session.end_run(39, "run");
  }
  options_.resume = options_.save;
  options_.threshold = 1e-6;
  options_.limit = 2e-6;  // each step is above
  slot_->load(*comm_, scratch_ / "x.dp", {"A", "B"});
  LateSource late(start_, 3);
  late.beside = true;
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
  LateSource first(start_, 6), second(start_, 2);
  first.beside = second.beside = true;
  std::int64_t frames_before = 0;
  {
    LearningSession session(comm_, slot_, options_, messages(), &first);
    session.start();
    run_and_stop(session, 0, 60);
    EXPECT_EQ(session.report().in_flight, 2);
    frames_before = session.report().frames;
  }
  slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
  options_.resume = scratch_ / "x";
  LearningSession session(comm_, slot_, options_, messages(), &second);
  session.start();
  EXPECT_EQ(second.submitted, 2);
  EXPECT_EQ(session.report().in_flight, 2);
  EXPECT_NE(log_.find("2 configurations that wait for a label are asked for again"),
            std::string::npos);
  session.end_run(59, "run");
  EXPECT_EQ(session.report().frames, frames_before + 2);
  expect_right_labels(stored());
  EXPECT_FALSE(is_file("x.requests"));
}

TEST_F(AsynchronousTest, ALabelThatWasStoredIsNotAskedForAgain)
{
  LateSource first(start_, 6), second(start_, 0);
  first.beside = second.beside = true;
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
  slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
  options_.resume = scratch_ / "x";
  LearningSession session(comm_, slot_, options_, messages(), &second);
  session.start();
  EXPECT_EQ(second.submitted, 0);
  EXPECT_EQ(stored().size(), frames_before);
}

TEST_F(AsynchronousTest, RequestsOfAnEarlierRunAreKeptAside)
{
  write_file(scratch_ / "x.requests", "anything");
  LateSource source(start_, 0);
  source.beside = true;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  EXPECT_EQ(read_file(scratch_ / "x.requests.old"), "anything");
  EXPECT_NE(log_.find("x.requests.old"), std::string::npos);
}

TEST_F(AsynchronousTest, ADamagedFileOfRequestsIsNamed)
{
  LateSource first(start_, 0), second(start_, 0);
  first.beside = second.beside = true;
  {
    LearningSession session(comm_, slot_, options_, messages(), &first);
    session.start();
    run_and_stop(session, 0, 10);
  }
  write_file(scratch_ / "x.requests", "no HDF5");
  slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
  options_.resume = scratch_ / "x";
  LearningSession session(comm_, slot_, options_, messages(), &second);
  EXPECT_NE(message_of([&] { session.start(); }).find("x.requests"), std::string::npos);
}

TEST_F(AsynchronousTest, WhatOutlivesTheProgramIsNotWaitedFor)
{
  LateSource source(start_, 6);
  source.beside = source.outlives = true;
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
  LateSource source(start_, 3);
  source.beside = true;
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
  LateSource source(start_, 6);
  source.beside = true;
  LearningSession before(comm_, slot_, options_, messages(), &source);
  before.start();
  run_and_stop(before, 0, 60);
  const std::int64_t frames = before.report().frames;
  slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start(&before);
  EXPECT_EQ(session.report().in_flight, 2);
  session.end_run(59, "run");
  EXPECT_EQ(session.report().frames, frames + 2);
  expect_right_labels(stored());
}

/// Displaced copies of the first configuration, before the run.
class PreparedTest : public AsynchronousTest {
 protected:
  void SetUp() override
  {
    AsynchronousTest::SetUp();
    options_.prepare.copies = 5;
    options_.save = scratch_ / "x.dp";
    options_.save_every = 1000000;
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
  LateSource source(start_, 4);
  source.beside = true;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  const int by_reference = run_and_stop(session, 0, 20);
  EXPECT_EQ(by_reference, 2);            // after the third label the model is known
  EXPECT_EQ(source.waits, 4 * (1 + 3));  // all copies side by side, then three labels
  EXPECT_EQ(num_copies(stored()), 5);
  EXPECT_NE(log_.find("         0   prepare "), std::string::npos);
  EXPECT_NE(log_.find("new model from 3 frames"), std::string::npos);
  // they are not asked for again
  const std::int64_t calls = session.report().reference_calls;
  session.end_run(19, "run");
  options_.resume = options_.save;
  LateSource second(start_, 0);
  second.beside = true;
  slot_->load(*comm_, scratch_ / "x.dp", {"A", "B"});
  LearningSession later(comm_, slot_, options_, messages(), &second);
  later.start();
  run_and_stop(later, 20, 22);
  EXPECT_LE(later.report().reference_calls, calls + 2);
}

TEST_F(PreparedTest, ACopyWithoutLabelIsToldAndLeftOut)
{
  LateSource source(start_, 0);
  source.beside = source.fails = true;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  EXPECT_NE(message_of([&] { run_and_stop(session, 0, 1); }).find("the model is not trained yet"),
            std::string::npos);  // the first step's own label
  EXPECT_EQ(session.report().discarded, 5);
}

TEST_F(PreparedTest, AProgramThatEndsLeavesThemToALaterOne)
{
  LateSource first(start_, 4), second(start_, 2);
  first.beside = second.beside = first.ends = true;
  {
    LearningSession session(comm_, slot_, options_, messages(), &first);
    session.start();
    EXPECT_EQ(message_of([&] { run_and_stop(session, 0, 1); }), "the program ends");
  }
  EXPECT_FALSE(is_file("x.dp.frames"));
  options_.resume = options_.save;
  LearningSession session(comm_, slot_, options_, messages(), &second);
  session.start();
  EXPECT_EQ(second.submitted, 5);
  const int by_reference = run_and_stop(session, 0, 20);
  EXPECT_EQ(num_copies(stored()), 5);
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
    EXPECT_NEAR(width(copy), 0.1 * (k + 1) / 4, 0.1 * 0.1 * (k + 1) / 4);
    EXPECT_EQ(copy.box, start.box);
    EXPECT_EQ(copy.coord, displaced_copy(start, options, k, 1).coord);
    EXPECT_NE(copy.coord, displaced_copy(start, options, k, 2).coord);
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
  start.periodic = false;
  EXPECT_EQ(displaced_copy(start, options, 3, 1).coord, start.coord);
}

TEST_F(AsynchronousTest, OptionsThatMakeNoSenseAreNamed)
{
  LateSource source(start_, 0);
  source.beside = true;
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

TEST(LabelRequest, IsTheSameFromAFile)
{
  for (const Ask ask :
       {Ask::no, Ask::prepare, Ask::young, Ask::threshold, Ask::limit, Ask::audit, Ask::rewind}) {
    LabelRequest request;
    request.ask = ask;
    request.has_scores = true;
    request.score = 1.5;
    request.expected = 0.25;
    request.energy = -3.0;
    request.frame = random_frame(3, 4, {edge, 0.0, 0.0, 0.0, edge, 0.0, 0.0, 0.0, edge}, true, 1.6);
    request.frame.step = 42;
    request.frame.label = {};
    request.frame.label.force_weight = {1.0, 0.0, 1.0, 0.0};
    request.atoms = {7, 3, 9, 1};
    request.force.assign(12, 0.5);
    request.feature_sum = {1.0, 2.0};
    const LabelRequest found = LabelRequest::from(request.state());
    EXPECT_EQ(found.state(), request.state());
    EXPECT_EQ(found.ask, ask);
    EXPECT_EQ(found.frame.coord, request.frame.coord);
    EXPECT_EQ(found.natoms(), 2);  // whose forces count
  }
  LabelRequest damaged;
  damaged.frame.type = {0, 0};
  damaged.frame.coord.assign(5, 0.0);
  EXPECT_NE(message_of([&] { LabelRequest::from(damaged.state()); }).find("lengths"),
            std::string::npos);
}

TEST(TrainingPace, GivesTheTrainingItsShare)
{
  using Seconds = std::chrono::duration<double>;
  const auto at = [](double seconds) {
    return TrainingPace::Clock::time_point(
        std::chrono::duration_cast<TrainingPace::Clock::duration>(Seconds(seconds)));
  };
  TrainingPace pace(0.25);
  EXPECT_EQ(pace.due(at(100.0)), 0.0);  // a label has come: time counts from here
  EXPECT_EQ(pace.due(at(100.1)), 0.0);  // too short a slice
  EXPECT_NEAR(pace.due(at(100.6)), 0.2, 1e-9);
  pace.slice_done(at(100.8));
  EXPECT_EQ(pace.due(at(100.9)), 0.0);
  EXPECT_NEAR(pace.due(at(101.7)), 0.3, 1e-9);
  pace.end();
  EXPECT_EQ(pace.due(at(200.0)), 0.0);
  TrainingPace all(1.0);
  EXPECT_EQ(all.due(at(0.0)), TrainingPace::everything);
}

TEST(ForceErrors, AreThoseOfAtomsAndOfComponents)
{
  Label label;
  label.force = {1.0, 0.0, 0.0, 0.0, -2.0, 0.0};
  const ForceErrors errors = force_errors({1.0, 0.0, 0.0, 0.3, -2.0, 0.4}, label);
  EXPECT_DOUBLE_EQ(errors.max, 0.5);  // the length of the second atom's error
  EXPECT_DOUBLE_EQ(errors.rms, std::sqrt(0.25 / 6.0));
  EXPECT_DOUBLE_EQ(errors.label_rms, std::sqrt(5.0 / 6.0));
}

}  // namespace
}  // namespace dptrain::test
