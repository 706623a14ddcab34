// TorchScript potentials against their definition written down naively, finite differences, and themselves in other blocks.

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/potential/model/model_data.h"
#include "potential/torchscript/archive.h"
#include "support/scratch.h"
#include "support/script_case.h"

namespace dptrain::test {

namespace {

struct Case {
  std::string name;
  ScriptToy toy;
};

std::vector<Case> cases()
{
  std::vector<Case> all;
  for (const char *name : {"local", "messages", "fparam", "single", "padding", "mixed", "border"})
    all.push_back({name, script_toy_named(name)});
  all.push_back({"overflow", {}});
  all.back().toy.sel = {2, 5};
  all.push_back({"mixed_overflow", script_toy_named("mixed")});
  all.back().toy.sel = {3, 4};
  return all;
}

class ScriptModelTest : public testing::TestWithParam<Case> {
 protected:
  const ScriptToy &toy() const { return GetParam().toy; }
  /// Of energies and what follows from them exactly: rounding.
  double rounding() const { return toy().single ? 1e-5 : 1e-12; }

  std::shared_ptr<Model> model_ = script_model(toy());
  Frame frame_ = one_rank_frame(script_frame());
};

/// Forces [nall][3] and virials of atoms [nall][9] by differences of the energies of atoms.
struct Derivatives {
  std::vector<double> force, atom_virial;
};

Derivatives derivatives(const PlainToy &plain, Frame &frame)
{
  Derivatives d;
  d.force.assign(frame.x.size(), 0.0);
  d.atom_virial.assign(3 * frame.x.size(), 0.0);
  const double h = 1e-5;
  for (std::size_t k = 0; k < frame.x.size(); ++k) {
    const double keep = frame.x[k];
    frame.x[k] = keep + h;
    const std::vector<double> plus = plain.energies(frame.domain());
    frame.x[k] = keep - h;
    const std::vector<double> minus = plain.energies(frame.domain());
    frame.x[k] = keep;
    for (int i = 0; i < frame.nlocal; ++i) {
      const double slope = (plus[i] - minus[i]) / (2 * h);
      d.force[k] -= slope;
      for (int b = 0; b < 3; ++b)
        d.atom_virial[9 * (k / 3) + 3 * (k % 3) + b] -=
            slope * (frame.x[3 * (k / 3) + b] - frame.x[3 * i + b]);
    }
  }
  return d;
}

void expect_same_results(const ScriptResult &a, const ScriptResult &b, double tolerance)
{
  EXPECT_NEAR(a.energy, b.energy, tolerance * std::abs(a.energy));
  expect_same(a.force, b.force, tolerance, "force");
  expect_same(a.virial, b.virial, tolerance, "virial");
  expect_same(a.atom_energy, b.atom_energy, tolerance, "energies of atoms");
  expect_same(a.atom_virial, b.atom_virial, tolerance, "virials of atoms");
}

}  // namespace

TEST_P(ScriptModelTest, EnergiesAreThoseOfTheDefinition)
{
  const PlainToy plain(toy(), *model_);
  const std::vector<double> expected = plain.energies(frame_.domain());
  const ScriptResult found = script_results(*model_, frame_.domain());
  expect_same(expected, found.atom_energy, rounding(), "energies of atoms");
  double sum = 0.0, constants = 0.0;
  for (int i = 0; i < frame_.nlocal; ++i) {
    sum += expected[i];
    constants += model_->energy_bias()[frame_.type[i]];
  }
  EXPECT_NEAR(found.energy, sum, rounding() * std::abs(sum) + rounding());
  EXPECT_NEAR(found.network_energy, sum - constants, 10 * rounding());
  if (GetParam().name.find("overflow") != std::string::npos) {
    EXPECT_GT(model_->neighbor_report().overflow, 0);
  }
  EXPECT_EQ(model_->neighbor_report().overflow, plain.overflows(frame_.domain()));
}

// Differences err by h^2 = 1e-10 times third derivatives and 1e-16 / h by rounding: 1e-8 of the largest.
TEST_P(ScriptModelTest, ForcesAndVirialsAreDerivatives)
{
  const PlainToy plain(toy(), *model_);
  const double tolerance = toy().single ? 1e-4 : 1e-8;
  const Derivatives expected = derivatives(plain, frame_);
  const ScriptResult found = script_results(*model_, frame_.domain());
  expect_same(expected.force, found.force, tolerance, "force");
  expect_same(expected.atom_virial, found.atom_virial, tolerance, "virials of atoms");
  std::vector<double> strained(9);
  const std::vector<double> x = frame_.x;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      double energy[2] = {0.0, 0.0};
      for (int side = 0; side < 2; ++side) {
        for (std::size_t k = a; k < x.size(); k += 3)
          frame_.x[k] = x[k] + (side ? -1e-6 : 1e-6) * x[k - a + b];
        for (const double e : plain.energies(frame_.domain())) energy[side] += e;
        frame_.x = x;
      }
      strained[3 * a + b] = -(energy[0] - energy[1]) / 2e-6;
    }
  expect_same(strained, found.virial, 10 * tolerance, "virial");
}

TEST_P(ScriptModelTest, ForcesFoldToNothing)
{
  const ScriptResult found = script_results(*model_, frame_.domain());
  double largest = 0.0, sum[3] = {0.0, 0.0, 0.0};
  for (std::size_t k = 0; k < found.force.size(); ++k) {
    sum[k % 3] += found.force[k];
    largest = std::max(largest, std::abs(found.force[k]));
  }
  for (const double total : sum) EXPECT_NEAR(total, 0.0, 10 * rounding() * largest);
}

TEST_P(ScriptModelTest, BlocksChangeNothing)
{
  const ScriptResult whole = script_results(*model_, frame_.domain());
  for (const int chunk : {1, 7, 1000}) {
    model_->set_chunk(chunk);
    expect_same_results(whole, script_results(*model_, frame_.domain()), rounding());
  }
}

TEST_P(ScriptModelTest, OtherOrdersOfCentersChangeNothing)
{
  if (toy().messages) return;  // whole frames only
  const ScriptResult whole = script_results(*model_, frame_.domain());
  Domain domain = frame_.domain();
  std::vector<int> backwards(domain.centers, domain.centers + domain.num_centers);
  std::reverse(backwards.begin(), backwards.end());
  domain.centers = backwards.data();
  expect_same_results(whole, script_results(*model_, domain), rounding());
  domain.num_centers = 4;
  ScriptResult part = script_results(*model_, domain);
  domain.centers += 4;
  domain.num_centers = frame_.nlocal - 4;
  const ScriptResult rest = script_results(*model_, domain);
  EXPECT_NEAR(part.energy + rest.energy, whole.energy, 10 * rounding());
  for (std::size_t k = 0; k < part.force.size(); ++k) part.force[k] += rest.force[k];
  expect_same(whole.force, part.force, rounding(), "force");
}

// Atoms of no element of the model, as NULL in pair_coeff: the same as a frame without them.
TEST_P(ScriptModelTest, AtomsOfOtherTypesAreNotThere)
{
  WholeFrame whole = script_frame(), with = whole;
  const WholeFrame others = script_frame(77, 5);
  for (int k = 0; k < 5; ++k) {
    const std::size_t place = 2 * k;  // between the others
    with.type.insert(with.type.begin() + place, -1);
    with.coord.insert(with.coord.begin() + 3 * place, others.coord.begin() + 3 * k,
                      others.coord.begin() + 3 * k + 3);
  }
  with.label.force.clear();
  const Frame frame = one_rank_frame(with);
  const ScriptResult found = script_results(*model_, frame.domain());
  const ScriptResult expected = script_results(*model_, frame_.domain());
  std::vector<double> energies, folded(3 * frame_.nlocal), force(3 * frame.nlocal), rest;
  for (int i = 0; i < frame.nlocal; ++i)
    if (frame.type[i] >= 0) energies.push_back(found.atom_energy[i]);
  expect_same(expected.atom_energy, energies, rounding(), "energies of atoms");
  EXPECT_NEAR(found.energy, expected.energy, 10 * rounding());
  for (std::size_t k = 0; k < found.force.size(); ++k)
    force[3 * frame.owner[k / 3] + k % 3] += found.force[k];
  for (std::size_t k = 0; k < expected.force.size(); ++k)
    folded[3 * frame_.owner[k / 3] + k % 3] += expected.force[k];
  for (std::size_t k = 0; k < force.size(); ++k)
    if (frame.type[k / 3] >= 0)
      rest.push_back(force[k]);
    else
      EXPECT_EQ(force[k], 0.0);
  expect_same(folded, rest, 10 * rounding(), "force");
}

INSTANTIATE_TEST_SUITE_P(Toys, ScriptModelTest, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

TEST(ScriptModel, EnergyBiasIsAddedToTheAtoms)
{
  const auto model = script_model({});
  const Frame frame = one_rank_frame(script_frame());
  EXPECT_NEAR(model->energy_bias().at(0), -1.5, 1e-14);
  EXPECT_NEAR(model->energy_bias().at(1), 2.25, 1e-14);
  EXPECT_TRUE(model->has_energy(0) && model->has_energy(1));
  const ScriptResult before = script_results(*model, frame.domain());
  model->set_energy_bias({-1.5 + 1e6, 2.25 - 3.0});
  const ScriptResult after = script_results(*model, frame.domain());
  EXPECT_EQ(before.network_energy,
            after.network_energy);  // bits: the size of the constants is not in it
  EXPECT_EQ(before.force, after.force);
  for (int i = 0; i < frame.nlocal; ++i) {
    const double shift = frame.type[i] == 0 ? 1e6 : -3.0;
    EXPECT_NEAR(after.atom_energy[i], before.atom_energy[i] + shift,
                1e-9);  // 1e6 has 10 digits behind the point
  }
}

TEST(ScriptModel, MessagesNeedTheWholeFrame)
{
  const auto model = script_model(script_toy_named("messages"));
  EXPECT_FALSE(model->is_local());
  EXPECT_TRUE(script_model({})->is_local());
  const Frame frame = one_rank_frame(script_frame());
  Domain domain = frame.domain();
  ASSERT_NE(domain.owner, nullptr);
  domain.owner = nullptr;
  expect_in("pass messages", message_of([&] { script_results(*model, domain); }));
  // and goes on afterwards
  EXPECT_NE(script_results(*model, frame.domain()).energy, 0.0);
}

TEST(ScriptModel, AtomsAtOnePlaceAreAnError)
{
  const auto model = script_model({});
  WholeFrame whole = script_frame();
  Frame frame = one_rank_frame(whole);
  const int neighbor = frame.domain().neighbors[0][0];
  std::copy_n(&frame.x[0], 3, &frame.x[3 * neighbor]);
  expect_in("same position", message_of([&] { script_results(*model, frame.domain()); }));
  const Frame good = one_rank_frame(whole);
  const ScriptResult fresh = script_results(*script_model({}), good.domain());
  EXPECT_EQ(script_results(*model, good.domain()).force,
            fresh.force);  // nothing stays behind of it
}

TEST(ScriptModel, OnlyTheArchivesOwnPrecision)
{
  expect_in("float64", message_of([] { script_model({})->set_precision(Precision::single); }));
  const auto single = script_model(script_toy_named("single"));
  single->set_precision(Precision::single);
  single->set_precision(Precision::float64);
  script_model({})->set_precision(Precision::float64);
}

// Code that LibTorch does not understand: an Error that names the file, not an exception of LibTorch's kind.
TEST(ScriptModel, FailuresInsideTheArchiveAreErrors)
{
  ModelData data = script_data({});
  data.archive = with_edited_code(data.archive, "toy", [](std::string &code) {
    const std::size_t at = code.find("torch.clamp(");
    if (at != std::string::npos)
      code.replace(at, 12, "torch.select(");  // (rows, 0) lacks an argument
  });
  expect_in("toy.pth", message_of([&] { make_model(data, "toy.pth"); }));
}

}  // namespace dptrain::test
