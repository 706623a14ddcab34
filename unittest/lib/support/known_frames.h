#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands/test_system.h"
#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "scratch.h"
#include "world.h"

namespace dptrain::test {

using Vec = std::vector<double>;

/// Results agree with DeePMD-kit's to 1e-10 of the largest (reference/README.md), and so do their errors.
constexpr double KNOWN_TOLERANCE = 1e-9;

/// A folder that all ranks see; rank 0 removes it.
class SharedScratch {
 public:
  SharedScratch() : comm_(world())
  {
    if (comm_->rank() == 0) scratch_ = std::make_unique<Scratch>();
    std::array<char, 256> name{};
    if (scratch_) scratch_->path().copy(name.data(), name.size() - 1);
    comm_->broadcast(name.data(), name.size(), 0);
    path_ = name.data();
  }
  ~SharedScratch() { wait(); }
  void wait() const
  {
    std::int64_t nothing = 0;
    comm_->all_reduce_sum(&nothing, 1);
  }
  /// Runs on rank 0 while the others wait.
  template <class Work> void once(Work &&work) const
  {
    if (comm_->rank() == 0) work();
    wait();
  }
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  const std::string &path() const { return path_; }

 private:
  std::shared_ptr<const Communicator> comm_;
  std::unique_ptr<Scratch> scratch_;
  std::string path_;
};

inline std::string model_of(const std::string &name)
{
  return std::string(DPTRAIN_TEST_DATA) + "/" + name + "/model.dp";
}

/// A frame and what DeePMD-kit computes for it.
struct Known {
  WholeFrame frame;
  FramePrediction result;
};

/// Labels: the result plus shifts that are different in each frame and component.
inline void set_labels(Known &known, int seed)
{
  Label &label = known.frame.label;
  label.energy = known.result.energy + 0.25 * std::cos(seed);
  label.force = known.result.force;
  for (std::size_t k = 0; k < label.force.size(); ++k) label.force[k] += 0.3 * std::sin(seed + k);
  label.virial = known.result.virial;
  for (int c = 0; c < 9; ++c) (*label.virial)[c] += 0.5 * std::cos(seed + 3 * c);
  label.atom_energy = known.result.atom_energy;
  label.atom_pref.clear();
  for (std::size_t i = 0; i < label.atom_energy.size(); ++i) {
    label.atom_energy[i] += 0.1 * std::sin(seed + 2 * i);
    label.atom_pref.push_back(0.5 * (i % 3));
  }
}

/// The frames of a case, `copies` times with other labels.
inline std::vector<Known> known_frames(const std::string &name, int copies)
{
  using Json = nlohmann::json;
  const Json expected =
      Json::parse(read_file(std::string(DPTRAIN_TEST_DATA) + "/" + name + "/expected.json"));
  const auto rows = [&](const Json &array) {
    Vec values;
    for (const auto &row : array)
      for (const double x : row.is_array() ? row.get<Vec>() : Vec{row.get<double>()})
        values.push_back(x);
    return values;
  };
  std::vector<Known> frames;
  for (int copy = 0; copy < copies; ++copy)
    for (const Json &json : expected.at("frames")) {
      Known known;
      known.frame.step = static_cast<std::int64_t>(frames.size());
      known.frame.coord = rows(json.at("coord"));
      known.frame.type = json.at("types").get<std::vector<int>>();
      known.frame.periodic = json.at("pbc");
      const Vec box = json.at("box").is_null() ? Vec(9, 0.0) : rows(json.at("box"));
      std::copy_n(box.begin(), 9, known.frame.box.begin());
      const Json &python = json.at("python");
      known.result.energy = python.at("energy");
      known.result.force = rows(python.at("force"));
      known.result.atom_energy = rows(python.at("atom_energy"));
      const Vec virial = rows(python.at("virial"));
      std::copy_n(virial.begin(), 9, known.result.virial.begin());
      set_labels(known, static_cast<int>(frames.size()));
      frames.push_back(std::move(known));
    }
  return frames;
}

/// Frames in memory as a system.
class KnownSystem : public DataSystem {
 public:
  explicit KnownSystem(std::vector<Known> frames) : frames_(std::move(frames)) {}
  const std::string &name() const override { return name_; }
  std::int64_t num_frames() const override { return static_cast<std::int64_t>(frames_.size()); }
  std::int64_t natoms(std::int64_t frame) const override
  {
    return static_cast<std::int64_t>(frames_.at(frame).frame.type.size());
  }
  bool same_atoms() const override { return false; }
  WholeFrame read(std::int64_t frame) const override { return frames_.at(frame).frame; }
  const std::vector<Known> &frames() const { return frames_; }

 private:
  std::string name_ = "known";
  std::vector<Known> frames_;
};

/// All differences of one quantity and their weights, and the errors as numpy would compute them.
struct Differences {
  Vec values, weights;
  void add(double value, double weight = 1.0)
  {
    values.push_back(value);
    weights.push_back(weight);
  }
  void expect(const TestError &found, const std::string &what) const
  {
    double weight = 0.0, absolute = 0.0, square = 0.0;
    for (std::size_t k = 0; k < values.size(); ++k) weight += weights[k];
    for (std::size_t k = 0; k < values.size(); ++k) {
      absolute += weights[k] / weight * std::abs(values[k]);
      square += weights[k] / weight * values[k] * values[k];
    }
    EXPECT_TRUE(found.found) << what;
    EXPECT_NEAR(found.weight, weight, 1e-12 * weight) << what;
    EXPECT_NEAR(found.mae, absolute, KNOWN_TOLERANCE) << what;
    EXPECT_NEAR(found.rmse, std::sqrt(square), KNOWN_TOLERANCE) << what;
  }
};

inline double volume(const std::array<double, 9> &h)
{
  return h[0] * (h[4] * h[8] - h[5] * h[7]) + h[1] * (h[5] * h[6] - h[3] * h[8]) +
         h[2] * (h[3] * h[7] - h[4] * h[6]);
}

inline std::map<std::string, Differences> differences_of(const std::vector<Known> &frames)
{
  std::map<std::string, Differences> all;
  for (const Known &known : frames) {
    const Label &label = known.frame.label;
    const double atoms = known.frame.type.size();
    all["e"].add(known.result.energy - *label.energy);
    all["ea"].add((known.result.energy - *label.energy) / atoms);
    for (std::size_t k = 0; k < label.force.size(); ++k) {
      all["f"].add(known.result.force[k] - label.force[k]);
      all["fw"].add(known.result.force[k] - label.force[k], label.atom_pref[k / 3]);
    }
    for (int c = 0; c < 9 && known.frame.periodic; ++c) {
      const double difference = known.result.virial[c] - (*label.virial)[c];
      all["v"].add(difference);
      all["va"].add(difference / atoms);
      all["s"].add(difference / volume(known.frame.box));
    }
    for (std::size_t i = 0; i < label.atom_energy.size(); ++i)
      all["ae"].add(known.result.atom_energy[i] - label.atom_energy[i]);
  }
  return all;
}

inline std::vector<std::int64_t> all_frames(const DataSystem &system)
{
  std::vector<std::int64_t> frames;
  for (std::int64_t k = 0; k < system.num_frames(); ++k) frames.push_back(k);
  return frames;
}

/// Those with, or without, a cell.
inline std::vector<Known> only(bool periodic, const std::vector<Known> &frames)
{
  std::vector<Known> some;
  for (const Known &known : frames)
    if (known.frame.periodic == periodic) some.push_back(known);
  return some;
}

}  // namespace dptrain::test
