// Cut-outs of configurations against brute force over images, and a learning session whose reference never sees the box.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>

#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/session/run/learning_session.h"
#include "io/file.h"
#include "session/requests/cutout.h"
#include "session/requests/request_book.h"
#include "support/learning_session.h"

namespace dptrain::test {
namespace {

constexpr CutoutShape shape{4.0, 1.5, 2.0};  // a buffer of 2.5 Angstrom
constexpr double width = 10.0;               // of a cut-out with its vacuum

using Box = std::array<double, 9>;

struct Case {
  const char *name;
  Box box;
  bool periodic;
  int kept;  // directions that are not cut
};

// skewed boxes: heights are less than the lengths of the edges
const Case cases[] = {
    {"cut in all directions", {14, 0, 0, 3, 13, 0, -2, 4, 12}, true, 0},
    {"edges in any direction", skewed_box(13.0), true, 0},
    {"kept along b", {14, 0, 0, 2, 8, 0, 1, -2, 13}, true, 1},
    {"kept along a and c", {7, 0, 0, 1, 15, 0, 2, -3, 9}, true, 2},
    {"without cell", {14, 0, 0, 0, 14, 0, 0, 0, 14}, false, 0},
};

WholeFrame frame_of(const Case &c)
{
  const Box &b = c.box;
  const double volume =
      std::abs(b[0] * (b[4] * b[8] - b[5] * b[7]) + b[1] * (b[5] * b[6] - b[3] * b[8]) +
               b[2] * (b[3] * b[7] - b[4] * b[6]));
  return random_frame(3, static_cast<int>(0.06 * volume), b, c.periodic, 1.4);
}

std::vector<std::array<double, 3>> shifts(const WholeFrame &frame, int most)
{
  if (!frame.periodic) return {{0.0, 0.0, 0.0}};
  std::vector<std::array<double, 3>> all;
  for (int a = -most; a <= most; ++a)
    for (int b = -most; b <= most; ++b)
      for (int c = -most; c <= most; ++c) {
        std::array<double, 3> shift;
        for (int k = 0; k < 3; ++k)
          shift[k] = a * frame.box[k] + b * frame.box[3 + k] + c * frame.box[6 + k];
        all.push_back(shift);
      }
  return all;
}

/// Distances from an atom to all atoms and their images within `reach`, with their types, ascending; not to itself.
std::vector<std::pair<double, int>> surroundings(const WholeFrame &frame, int center, double reach)
{
  std::vector<std::pair<double, int>> found;
  for (const auto &shift : shifts(frame, 5))  // some atoms are two cells away
    for (std::size_t j = 0; j < frame.type.size(); ++j) {
      double square = 0.0;
      for (int k = 0; k < 3; ++k) {
        const double d = frame.coord[3 * j + k] + shift[k] - frame.coord[3 * center + k];
        square += d * d;
      }
      if (square > 1e-12 && square <= reach * reach)
        found.emplace_back(std::sqrt(square), frame.type[j]);
    }
  std::sort(found.begin(), found.end());
  return found;
}

void expect_same(const std::vector<std::pair<double, int>> &a,
                 const std::vector<std::pair<double, int>> &b, const std::string &what)
{
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_NEAR(a[k].first, b[k].first, 1e-9) << what;
    EXPECT_EQ(a[k].second, b[k].second) << what;
  }
}

class Cutouts : public testing::TestWithParam<Case> {};

// The core knows nothing of the cut: up to radius - core all that surrounds its atoms is there, and nothing else.
TEST_P(Cutouts, TheNeighborhoodsOfTheCoreAreWhole)
{
  const WholeFrame whole = frame_of(GetParam());
  const Cutter cutter(whole, shape);
  for (const int center : {0, 5, 11}) {
    const Cutout cutout = cutter.around(center);
    ASSERT_LT(cutout.atoms.size(), whole.type.size());
    EXPECT_FALSE(cutter.is_whole(cutout));
    EXPECT_TRUE(std::is_sorted(cutout.atoms.begin(), cutout.atoms.end()));
    EXPECT_EQ(cutout.frame.periodic, whole.periodic);
    int core = 0;
    for (std::size_t i = 0; i < cutout.atoms.size(); ++i) {
      EXPECT_EQ(cutout.frame.type[i], whole.type[cutout.atoms[i]]);
      const double distance = cutter.distance(center, cutout.atoms[i]);
      EXPECT_EQ(cutout.frame.label.force_weight[i], distance <= shape.core ? 1.0 : 0.0);
      if (distance > shape.core) continue;
      ++core;
      const double reach = shape.radius - shape.core;
      expect_same(surroundings(cutout.frame, static_cast<int>(i), reach),
                  surroundings(whole, cutout.atoms[i], reach), GetParam().name);
    }
    EXPECT_GE(core, 1);
  }
}

// A ball, and where a direction is kept a cylinder or a slab, by the images that brute force finds.
TEST_P(Cutouts, HaveTheAtomsWithinTheRadius)
{
  const WholeFrame whole = frame_of(GetParam());
  const Cutter cutter(whole, shape);
  const Cutout cutout = cutter.around(4);
  if (GetParam().kept == 0) {
    std::set<int> expected;
    for (const auto &shift : shifts(whole, 5))
      for (std::size_t j = 0; j < whole.type.size(); ++j) {
        double square = 0.0;
        for (int k = 0; k < 3; ++k)
          square += std::pow(whole.coord[3 * j + k] + shift[k] - whole.coord[12 + k], 2);
        if (square <= shape.radius * shape.radius) expected.insert(static_cast<int>(j));
      }
    EXPECT_EQ(std::set<int>(cutout.atoms.begin(), cutout.atoms.end()), expected);
  }
  // the edges keep their directions; the heights are those of the box, or of the cut-out with its vacuum
  if (!whole.periodic) return;
  const Lattice before(whole.box), after(cutout.frame.box);
  int kept = 0;
  for (int d = 0; d < 3; ++d) {
    kept += before.height(d) <= width;
    EXPECT_NEAR(after.height(d), std::min(before.height(d), width), 1e-12);
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(cutout.frame.box[3 * d + k] / after.length(d),
                  whole.box[3 * d + k] / before.length(d), 1e-12);
  }
  EXPECT_EQ(kept, GetParam().kept);
}

// Atoms of the cut-out and their images across a direction that is cut are a vacuum apart.
TEST_P(Cutouts, DoNotSeeTheirImages)
{
  const WholeFrame whole = frame_of(GetParam());
  WholeFrame frame = Cutter(whole, shape).around(4).frame;
  if (GetParam().kept > 0 || !whole.periodic) return;
  WholeFrame alone = frame;
  alone.periodic = false;
  for (int i = 0; i < static_cast<int>(frame.type.size()); ++i)
    expect_same(surroundings(frame, i, shape.vacuum - 1e-9),
                surroundings(alone, i, shape.vacuum - 1e-9), "image");
}

INSTANTIATE_TEST_SUITE_P(All, Cutouts, testing::ValuesIn(cases));

TEST(Cutouts, TheWholeBoxIsRecognized)
{
  const Case small{"small", {8, 0, 0, 1, 9, 0, 0, 2, 9.5}, true, 3};
  const WholeFrame whole = frame_of(small);
  const Cutter cutter(whole, shape);
  const Cutout cutout = cutter.around(2);
  EXPECT_TRUE(cutter.is_whole(cutout));
  for (int k = 0; k < 9; ++k) EXPECT_EQ(cutout.frame.box[k], whole.box[k]);
  // nothing is across three directions
  EXPECT_EQ(cutter.distance(2, 5), 0.0);
}

TEST(Cutouts, CentersAreTheWorstAtomsOutsideOfCores)
{
  const WholeFrame whole = frame_of(cases[0]);
  const Cutter cutter(whole, shape);
  Numbers random(7);
  std::vector<double> bars;
  for (std::size_t i = 0; i < whole.type.size(); ++i) bars.push_back(random(0.0, 1.0));
  const int worst = static_cast<int>(std::max_element(bars.begin(), bars.end()) - bars.begin());
  const std::vector<int> centers = cutter.centers(worst, bars, 0.6, 50);
  ASSERT_GT(centers.size(), 3u);
  EXPECT_EQ(centers[0], worst);
  for (std::size_t i = 0; i < centers.size(); ++i) {
    EXPECT_GT(bars[centers[i]], 0.6);
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_GT(cutter.distance(centers[i], centers[j]), shape.core);
      EXPECT_GE(bars[centers[j]], bars[centers[i]]);
    }
  }
  // no atom above the threshold is left out
  for (int atom = 0; atom < static_cast<int>(bars.size()); ++atom)
    if (bars[atom] > 0.6) {
      EXPECT_TRUE(std::any_of(centers.begin(), centers.end(), [&](int center) {
        return cutter.distance(center, atom) <= shape.core;
      })) << atom;
    }
  EXPECT_EQ(cutter.centers(worst, bars, 0.6, 2),
            std::vector<int>(centers.begin(), centers.begin() + 2));
  EXPECT_EQ(cutter.centers(9, bars, HUGE_VAL, 4), std::vector<int>{9});
}

TEST(Cutouts, ShapesThatAreNotPossibleAreRefused)
{
  const UnitFactors units;
  const auto message = [&](double radius, double core) {
    return message_of([&] { cutout_shape({radius, core, 0.0, 4}, 5.0, units); });
  };
  expect_in("cutout 4 is not possible", message(4.0, 0.0));
  expect_in("cutout 9 core 4.5 is not possible", message(9.0, 4.5));
  expect_in("use a radius above 9.5, or a smaller core", message(9.0, 4.5));
  const CutoutShape given = cutout_shape({9.0, 0.0, 0.0, 4}, 5.0, units);
  EXPECT_EQ(given.core, 4.0);
  EXPECT_EQ(given.vacuum, 5.0);
  EXPECT_EQ(cutout_shape({9.0, 1.0, 12.0, 4}, 5.0, units).vacuum, 12.0);
}

TEST(Cutouts, ErrorsAreThoseOfForcesThatCount)
{
  Label label;
  label.force = {1.0, 0.0, 0.0, 0.0, -2.0, 0.0, 9.0, 9.0, 9.0};
  label.force_weight = {1.0, 1.0, 0.0};
  const ForceErrors errors = force_errors({1.0, 0.0, 0.0, 0.3, -2.0, 0.4, 0.0, 0.0, 0.0}, label);
  EXPECT_DOUBLE_EQ(errors.max, 0.5);
  EXPECT_DOUBLE_EQ(errors.rms, std::sqrt(0.25 / 6.0));
  EXPECT_DOUBLE_EQ(errors.label_rms, std::sqrt(5.0 / 6.0));
}

// ---- a session

constexpr double rcut = 3.0;

/// E = sum over pairs of (rcut - r)^2 / 2, which reaches as far as the model.
Label springs(const WholeFrame &whole)
{
  const Frame frame = scatter_frame(make_mpi_communicator(), whole, rcut);
  Label label;
  label.energy = 0.0;
  label.virial.emplace();
  label.force.assign(3 * frame.nlocal, 0.0);
  for (int i = 0; i < frame.nlocal; ++i)
    for (int k = frame.first[i]; k < frame.first[i + 1]; ++k) {
      const int j = frame.neighbor[k];
      const double r = std::sqrt(distance_squared(&frame.x[3 * i], &frame.x[3 * j]));
      *label.energy += 0.25 * (rcut - r) * (rcut - r);
      for (int d = 0; d < 3; ++d)
        label.force[3 * i + d] += (rcut - r) * (frame.x[3 * i + d] - frame.x[3 * j + d]) / r;
    }
  return label;
}

class SpringSource final : public LabelSource {
 public:
  std::int64_t submit(const WholeFrame &frame) override
  {
    frames.push_back(frame);
    return static_cast<std::int64_t>(frames.size());
  }
  std::vector<LabelAnswer> poll() override
  {
    std::vector<LabelAnswer> answers;
    most_at_once = std::max(most_at_once, frames.size() - answered);
    for (; answered < frames.size(); ++answered) {
      LabelAnswer answer;
      answer.request = static_cast<std::int64_t>(answered) + 1;
      answer.label = springs(frames[answered]);
      answers.push_back(answer);
    }
    std::reverse(answers.begin(), answers.end());  // the last one first
    return answers;
  }
  void cancel(std::int64_t) override {}
  std::int64_t in_flight() const override
  {
    return static_cast<std::int64_t>(frames.size() - answered);
  }

  std::vector<WholeFrame> frames;
  std::size_t answered = 0, most_at_once = 0;
};

class CutoutSession : public testing::Test {
 protected:
  const Scratch scratch_;
  const std::shared_ptr<const Communicator> comm_ = make_mpi_communicator();
  const std::shared_ptr<ModelInUse> slot_ = std::make_shared<ModelInUse>();
  std::string log_;
  LearningOptions options_;

  Messages messages()
  {
    const auto say = [this](const std::string &text) { log_ += text + "\n"; };
    return {say, say, say};
  }
  /// Atoms that move a little around their places; in a box of this edge.
  static WholeFrame frame(int step, double edge, double amplitude)
  {
    const int natoms = static_cast<int>(0.05 * edge * edge * edge);
    WholeFrame frame = random_frame(5, natoms, cubic_box(edge), true, 1.6);
    Numbers random(100 + step);
    frame.step = step;
    frame.label = {};
    for (double &x : frame.coord) x += random(-amplitude, amplitude);
    return frame;
  }
  void run(LearningSession &session, int steps, double edge, double amplitude)
  {
    FrameRun trajectory(slot_);
    session.begin_run(0);
    for (int step = 0; step < steps; ++step) {
      trajectory.show(frame(step, edge, amplitude));
      session.step(trajectory);
      if (options_.cutout.radius > 0.0) {
        EXPECT_TRUE(trajectory.model_moves());
      }
    }
    session.end_run(steps - 1, "run");
  }
  /// A model of small boxes, where nothing is cut; once for all tests.
  void learn_in_a_small_box()
  {
    write_file(*shared_ / "input.json", input);
    slot_->load(*comm_, *shared_ / "input.json", {"A", "B"});
    options_.files.save = *shared_ / "small.dp";
    options_.files.disp = *shared_ / "lcurve.out";
    SpringSource source;
    LearningSession session(comm_, slot_, options_, messages(), &source);
    session.start();
    run(session, 20, 7.0, 0.1);
  }
  void SetUp() override
  {
    options_.active = true;
    options_.every = 1;
    options_.training.warmup = 3;
    options_.training.steps = 20;
    options_.audit = 0;
    options_.holdout = 0;
    options_.files.save_every = 1000;
    if (!shared_) {
      shared_ = std::make_unique<Scratch>();
      learn_in_a_small_box();
    }
    slot_->load(*comm_, *shared_ / "small.dp", {"A", "B"});
    options_.files.disp = scratch_ / "lcurve.out";
    options_.files.save = scratch_ / "large.dp";
    options_.cutout.radius = 4.5;
  }
  static void TearDownTestSuite() { shared_.reset(); }

 private:
  static std::unique_ptr<Scratch> shared_;
};

std::unique_ptr<Scratch> CutoutSession::shared_;

TEST_F(CutoutSession, TheReferenceNeverSeesTheBox)
{
  SpringSource source;
  options_.accuracy = {0.005, false};
  options_.files.dataset = scratch_ / "data";
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  run(session, 6, 13.0, 0.15);
  ASSERT_GT(source.frames.size(), 6u);
  EXPECT_GT(source.most_at_once, 1u);  // several in a step, side by side
  EXPECT_LE(source.most_at_once, 4u);
  const std::size_t natoms = frame(0, 13.0, 0.0).type.size();
  for (const WholeFrame &one : source.frames) EXPECT_LT(one.type.size(), natoms);
  EXPECT_EQ(session.report().reference_calls, static_cast<std::int64_t>(source.frames.size()));
  EXPECT_TRUE(session.report().model_moves);

  // labels of the core alone, which are those of the whole box
  const std::vector<WholeFrame> stored =
      FramesFile::read(options_.files.save + ".frames", -1).frames;
  ASSERT_GT(stored.size(), 3u);
  for (const WholeFrame &one : stored) {
    EXPECT_FALSE(one.label.energy || one.label.virial);
    const WholeFrame whole = frame(static_cast<int>(one.step), 13.0, 0.15);
    const Label label = springs(whole);
    int core = 0;
    for (std::size_t i = 0; i < one.type.size(); ++i) {
      if (one.label.force_weight[i] == 0.0) continue;
      ++core;
      double nearest = 1.0;  // an atom of the box with this force
      for (std::size_t j = 0; j < whole.type.size(); ++j)
        nearest = std::min(nearest, distance_squared(&label.force[3 * j], &one.label.force[3 * i]));
      EXPECT_LT(nearest, 1e-20);
    }
    EXPECT_GE(core, 1);
    EXPECT_LT(core, static_cast<int>(one.type.size()));
  }
  EXPECT_NE(log_.find("cut-outs: "), std::string::npos);
  EXPECT_EQ(log_.find("the labels have no energies"), std::string::npos);

  // a later session goes on with them
  options_.files.resume = options_.files.save;
  SpringSource other;
  LearningSession resumed(comm_, slot_, options_, messages(), &other);
  resumed.start();
  EXPECT_EQ(resumed.report().frames, session.report().frames);
}

TEST_F(CutoutSession, WhatIsLearnedIsNotAskedAgain)
{
  SpringSource source;
  options_.accuracy = {0.0001, false};
  options_.limit = 100.0;
  options_.training.steps = 0;  // else the model changes, and what it knows of the atoms with it
  options_.cutout.most = 99;    // around nearly all atoms
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  FrameRun trajectory(slot_);
  session.begin_run(0);
  for (int step = 0; step < 2; ++step) {
    WholeFrame same = frame(0, 13.0, 0.15);
    same.step = step;
    trajectory.show(same);
    session.step(trajectory);
  }
  const std::size_t first = log_.find("dptrain          1 ");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log_.find("duplicate"), log_.find("duplicate", first));
  EXPECT_NE(log_.find("duplicate", first), std::string::npos);
}

TEST_F(CutoutSession, ABoxThatIsNotLargerGoesToTheReference)
{
  SpringSource source;
  options_.accuracy = {1e-05, false};
  options_.limit = 100.0;
  LearningSession session(comm_, slot_, options_, messages(), &source);
  session.start();
  FrameRun trajectory(slot_);
  session.begin_run(0);
  trajectory.show(frame(30, 7.0, 0.1));
  session.step(trajectory);
  ASSERT_EQ(source.frames.size(), 1u);
  EXPECT_EQ(source.frames[0].coord, frame(30, 7.0, 0.1).coord);
  EXPECT_TRUE(source.frames[0].label.force_weight.empty());
  EXPECT_NE(log_.find("a cut-out would be the whole box"), std::string::npos);
}

TEST_F(CutoutSession, ModelsThatAreNotTrainedAreRefused)
{
  SpringSource source;
  write_file(scratch_ / "input.json", input);
  slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
  LearningSession session(comm_, slot_, options_, messages(), &source);
  expect_in("is not trained: train it on a small box first", message_of([&] { session.start(); }));
  options_.follow_reference = true;
  expect_in("contradict each other",
            message_of([&] { LearningSession(comm_, slot_, options_, messages(), &source); }));
  options_.follow_reference = options_.active = false;
  expect_in("cutout needs mode active",
            message_of([&] { LearningSession(comm_, slot_, options_, messages(), &source); }));
}

}  // namespace
}  // namespace dptrain::test
