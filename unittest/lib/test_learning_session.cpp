// A learning session with an engine and a reference of the test's own: what is asked, stored, learned and followed.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "session/learning/training_pace.h"
#include "session/requests/request_book.h"
#include "support/learning_session.h"

namespace dptrain::test {
namespace {

TEST_F(LearningSessionTest, ALateAnswerIsWaitedForAndChangesNothing)
{
  LateSource at_once(start_, 0), late(start_, 3);
  LearningSession first(comm_, slot_, options_, messages(), &at_once);
  first.start();
  const std::vector<double> energies = run(first, 10);
  EXPECT_EQ(at_once.waits, 0);

  slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
  options_.files.frames = scratch_ / "y.frames";
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
  const std::vector<WholeFrame> stored = FramesFile::read(options_.files.frames, -1).frames;
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
  options_.training.steps = 40;
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

TEST_F(LearningSessionTest, ExploresOtherCells)
{
  LateSource source(start_, 0);
  options_.active = true;
  options_.every = 1;
  options_.audit = 0;
  options_.training.steps = 40;
  options_.explore.steps = 20;
  options_.explore.temperature = 300.0;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  FrameRun trajectory(slot_);
  begin_run(session, trajectory, 40);
  const LearningReport before = session.report();
  ASSERT_TRUE(before.model_moves);
  const double energy = trajectory.values().energy;
  session.explore(trajectory);
  const LearningReport after = session.report();
  // the run goes on from its last step with what the model has become
  EXPECT_TRUE(trajectory.model_moves());
  EXPECT_NEAR(after.energy_jumps - before.energy_jumps, trajectory.values().energy - energy, 1e-9);
  EXPECT_EQ(after.expected_error, before.expected_error);
  EXPECT_GT(after.reference_calls, before.reference_calls);
  // of each label, and of ten more; some are asked only to move the atoms
  EXPECT_EQ(after.steps - before.steps, 40 * (after.frames - before.frames + 10));
  EXPECT_NE(log_.find("explored from step 39, at 300 K, with volumes of 1, 1.19, 0.885 times"),
            std::string::npos)
      << log_;
  session.end_run(39, "run");
  EXPECT_NE(log_.find(" to explore, "), std::string::npos) << log_;
  session.begin_run(39);  // nothing has been asked in it
  session.explore(trajectory);
  EXPECT_EQ(session.report().reference_calls, after.reference_calls);
}

// A reference that has no label there does not end a run that is over.
TEST_F(LearningSessionTest, ExploresWithoutLabels)
{
  LateSource source(start_, 0);
  options_.active = true;
  options_.failure_stops = true;
  options_.every = 1;
  options_.explore.steps = 5;
  options_.explore.temperature = 300.0;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  FrameRun trajectory(slot_);
  begin_run(session, trajectory, 12);
  const LearningReport before = session.report();
  source.fails = true;
  session.explore(trajectory);
  EXPECT_EQ(session.report().frames, before.frames);
  EXPECT_GT(session.report().discarded, before.discarded);
  trajectory.show(frame(12));
  EXPECT_NO_THROW(session.end_run(12, "run"));
}

TEST_F(LearningSessionTest, DoesNotExploreWithoutATemperature)
{
  LateSource source(start_, 0);
  options_.active = true;
  options_.every = 1;
  options_.explore.steps = 20;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  FrameRun trajectory(slot_);
  begin_run(session, trajectory, 12);
  session.explore(trajectory);
  EXPECT_NE(log_.find("explore: the atoms have no temperature"), std::string::npos);
}

LabelRequest written_and_read(const LabelRequest &request)
{
  LabelRequest found;
  state_of(request).read(found);
  return found;
}

TEST(LabelRequest, IsTheSameFromAFile)
{
  for (const Ask ask :
       {Ask::no, Ask::prepare, Ask::early, Ask::threshold, Ask::limit, Ask::audit, Ask::rewind}) {
    LabelRequest request;
    request.ask = ask;
    request.has_bars = true;
    request.expected = 0.25;
    request.energy = -3.0;
    request.frame = random_frame(3, 4, {edge, 0.0, 0.0, 0.0, edge, 0.0, 0.0, 0.0, edge}, true, 1.6);
    request.frame.step = 42;
    request.frame.label = {};
    request.frame.label.force_weight = {1.0, 0.0, 1.0, 0.0};
    request.atoms = {7, 3, 9, 1};
    request.force.assign(12, 0.5);
    request.feature_sum = {1.0, 2.0};
    request.set_bars({0.25, 0.5, 0.125, 1.0}, {{0.5, 2.0}, 0.9, 10, {5, 5}, "10 labels"});
    EXPECT_EQ(request.bar[3], 1.0);
    EXPECT_EQ(request.distance[3], request.frame.type[3] == 0 ? 2.0 : 0.5);
    // atoms 0 and 2 count; their bars by scales that have become twice as large
    EXPECT_EQ(request.largest_bar({{1.0, 4.0}, 0.9, 10, {5, 5}, "10 labels"}), 0.5);
    EXPECT_EQ(request.largest_bar({}), 0.0);
    const LabelRequest found = written_and_read(request);
    EXPECT_EQ(state_of(found), state_of(request));
    EXPECT_EQ(found.ask, ask);
    EXPECT_EQ(found.frame.coord, request.frame.coord);
    EXPECT_EQ(found.natoms(), 2);  // whose forces count
  }
  LabelRequest damaged;
  damaged.frame.type = {0, 0};
  damaged.frame.coord.assign(5, 0.0);
  EXPECT_NE(message_of([&] { written_and_read(damaged); }).find("lengths"), std::string::npos);
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
