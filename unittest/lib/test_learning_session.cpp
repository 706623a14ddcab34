// A learning session with an engine and a reference of the test's own: what is asked, stored, learned and followed.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/session/learning_session.h"
#include "io/file.h"
#include "session/reference_desk.h"
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
  void wait(double) override { ++waits; }
  void cancel(std::int64_t request) override { open_.erase(request); }
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(open_.size()); }

  std::int64_t submitted = 0;
  int waits = 0;
  bool fails = false;

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
