#pragma once

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/session/run/learning_session.h"
#include "io/file.h"
#include "random_frame.h"
#include "scratch.h"

namespace dptrain::test {

constexpr double edge = 7.0;  // Angstrom

inline const char *const input = R"({
  "model": {
    "type_map": ["A", "B"],
    "descriptor": {"type": "se_e2_a", "rcut": 3.0, "rcut_smth": 1.0, "neuron": [4, 8], "axis_neuron": 2, "seed": 1},
    "fitting_net": {"neuron": [8, 8], "seed": 1}
  },
  "loss": {"start_pref_e": 1, "limit_pref_e": 1, "start_pref_f": 10, "limit_pref_f": 10},
  "training": {"numb_steps": 1000, "seed": 1}
})";

/// Atoms in harmonic wells of their own, around the places of the first frame.
inline Label harmonic(const WholeFrame &start, const WholeFrame &frame)
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
  const std::shared_ptr<ModelInUse> slot_ = std::make_shared<ModelInUse>();
  const WholeFrame start_ =
      random_frame(5, 8, {edge, 0.0, 0.0, 0.0, edge, 0.0, 0.0, 0.0, edge}, true, 1.6);
  std::string log_;
  LearningOptions options_;

  void SetUp() override
  {
    write_file(scratch_ / "input.json", input);
    options_.active = false;
    slot_->load(*comm_, scratch_ / "input.json", {"A", "B"});
    options_.every = 2;
    options_.training.warmup = 3;
    options_.training.steps = 5;
    options_.files.frames = scratch_ / "x.frames";
    options_.files.disp = scratch_ / "lcurve.out";
    options_.files.disp_every = 1;
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
  /// So many steps of a run, without its end; energies with which it goes on from each of them.
  std::vector<double> begin_run(LearningSession &session, FrameRun &trajectory, int steps) const
  {
    std::vector<double> energies;
    session.begin_run(0);
    for (int step = 0; step < steps; ++step) {
      trajectory.show(frame(step));
      session.step(trajectory);
      energies.push_back(trajectory.values().energy);
    }
    return energies;
  }
  /// A whole run.
  std::vector<double> run(LearningSession &session, int steps)
  {
    FrameRun trajectory(slot_);
    const std::vector<double> energies = begin_run(session, trajectory, steps);
    session.end_run(steps - 1, "run");
    return energies;
  }
};

}  // namespace dptrain::test
