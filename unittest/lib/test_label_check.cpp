// Energies, forces and virials of a reference that belong together, and of clients with wrong units and signs.

#include "session/requests/label_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "neighbor/lattice.h"

namespace dptrain {
namespace {

constexpr double depth = 0.5, width = 1.5, distance = 2.6;  // Morse: eV, 1/Angstrom, Angstrom
constexpr int pairs = 14;

// Energy, forces and virial of Morse pairs between nearest images.
Label morse(const WholeFrame &frame)
{
  const Lattice lattice(frame.box);
  Label label;
  label.energy = 0.0;
  label.force.assign(frame.coord.size(), 0.0);
  label.virial.emplace();
  for (std::size_t i = 0; i < frame.coord.size(); i += 3)
    for (std::size_t j = i + 3; j < frame.coord.size(); j += 3) {
      std::array<double, 3> d{};
      for (int k = 0; k < 3; ++k) d[k] = frame.coord[j + k] - frame.coord[i + k];
      const auto part = lattice.fractional(d.data());
      for (int k = 0; k < 3; ++k)
        for (int c = 0; c < 3; ++c) d[c] -= std::round(part[k]) * frame.box[3 * k + c];
      const double r = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
      const double e = std::exp(-width * (r - distance));
      *label.energy += depth * (e * e - 2.0 * e);
      const double slope = -2.0 * width * depth * (e * e - e);
      for (int k = 0; k < 3; ++k) {
        const double force = -slope * d[k] / r;  // on j
        label.force[j + k] += force;
        label.force[i + k] -= force;
        for (int c = 0; c < 3; ++c) (*label.virial)[3 * k + c] += force * d[c];
      }
    }
  return label;
}

// A cubic lattice, disordered; its cell sheared, and moved out of the orientation that LAMMPS has.
WholeFrame start()
{
  WholeFrame frame;
  constexpr int edge = 4;
  constexpr double a = 2.7;
  frame.box = {edge * a, 0.3, 0.0, 0.0, edge * a, 0.2, 0.1, 0.0, edge * a};
  std::mt19937 random(3);
  std::normal_distribution<double> shift(0.0, 0.1);
  for (int x = 0; x < edge; ++x)
    for (int y = 0; y < edge; ++y)
      for (int z = 0; z < edge; ++z) {
        for (const int n : {x, y, z}) frame.coord.push_back(n * a + shift(random));
        frame.type.push_back(0);
      }
  return frame;
}

struct Walk {
  double displacement = 0.05;  // Angstrom, of each coordinate
  double strain = 0.0;
  double noise = 0.0;  // eV
};

std::vector<int> doubted;  // labels of the walk

// What the check says of the labels of a walk, each changed by `client`; checks that it says each thing once.
std::string said_of(const Walk &walk,
                    const std::function<void(Label &, const WholeFrame &)> &client,
                    WholeFrame frame = start())
{
  doubted.clear();
  LabelCheck check({"Cu"});
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0.0, 1.0);
  std::string said;
  for (int k = 0; k <= pairs; ++k) {
    Label label = morse(frame);
    *label.energy += walk.noise * normal(random);
    client(label, frame);
    const LabelCheck::Finding found = check.add(frame, label);
    const std::string now = found.proof + found.warning;
    EXPECT_EQ(said.find(now), now.empty() ? 0 : std::string::npos) << now;
    said += now;
    if (!found.doubt.empty()) doubted.push_back(k);
    const double strain[6] = {walk.strain * normal(random), walk.strain * normal(random),
                              walk.strain * normal(random), walk.strain * normal(random),
                              walk.strain * normal(random), walk.strain * normal(random)};
    const auto deform = [&](double *x) {
      const double y[3] = {x[0], x[1], x[2]};
      x[0] += strain[0] * y[0] + strain[3] * y[1] + strain[4] * y[2];
      x[1] += strain[1] * y[1] + strain[5] * y[2];
      x[2] += strain[2] * y[2];
    };
    for (int row = 0; row < 9; row += 3) deform(&frame.box[row]);
    for (std::size_t i = 0; i < frame.coord.size(); i += 3) deform(&frame.coord[i]);
    for (double &x : frame.coord) x += walk.displacement * normal(random);
    for (int d = 0; d < 3; ++d) frame.coord[d] += frame.box[3 * (k % 3) + d];  // another image
  }
  return said;
}

void as_it_is(Label &, const WholeFrame &) {}

TEST(LabelCheck, SaysNothingOfARightReference)
{
  EXPECT_EQ(said_of({}, as_it_is), "");
  EXPECT_EQ(said_of({0.05, 0.01}, as_it_is), "");
  EXPECT_TRUE(doubted.empty());
  EXPECT_EQ(said_of({0.01, 0.0, 0.05}, as_it_is), "");  // an energy that says little
  EXPECT_TRUE(doubted.empty());
  EXPECT_EQ(said_of({0.0, 0.0}, as_it_is), "");  // nothing moves
}

TEST(LabelCheck, SaysNothingWhereMoleculesTurn)
{
  // far between two labels: the rule gives work that is none
  WholeFrame frame;
  frame.box = {20, 0, 0, 0, 20, 0, 0, 0, 20};
  frame.type = {0, 0};
  for (const double angle : {0.1, 0.2, 0.3}) {
    LabelCheck check;
    for (int k = 0; k < 60; ++k) {
      const double r = 0.5 * (distance + 0.08 * std::sin(1.7 * k)), x = r * std::cos(k * angle),
                   y = r * std::sin(k * angle);
      frame.coord = {10 + x, 10 + y, 10, 10 - x, 10 - y, 10};
      EXPECT_EQ(check.add(frame, morse(frame)).proof, "") << angle;
    }
  }
}

/// Nothing is said of a long run whose virials are too large by a factor, whose cell grows by growth(k, normal numbers) at each step.
void expect_nothing_of_virials(
    double factor, double displacement,
    const std::function<double(int, const std::function<double()> &)> &growth)
{
  LabelCheck check;
  WholeFrame frame = start();
  std::mt19937 random(5);
  std::normal_distribution<double> distribution(0.0, 1.0);
  const auto normal = [&] { return distribution(random); };
  for (int k = 0; k < 40; ++k) {
    Label label = morse(frame);
    for (double &v : *label.virial) v *= factor;
    EXPECT_EQ(check.add(frame, label).proof, "") << k;
    const double grown = growth(k, normal);
    for (double &x : frame.box) x *= grown;
    for (double &x : frame.coord) x *= grown;
    for (double &x : frame.coord) x += displacement * normal();
  }
}

TEST(LabelCheck, OneStrainedPairSaysNothingOfTheVirial)
{
  // copies of a strained cell, and then a long run in one cell
  expect_nothing_of_virials(2.0, 0.02, [](int k, const auto &) { return k < 2 ? 1.01 : 1.0; });
}

TEST(LabelCheck, OnePairAmongManySmallOnesSaysNothing)
{
  // a box that hardly changes, but for a long time without a label
  expect_nothing_of_virials(
      4.0, 0.01, [](int k, const auto &normal) { return k == 5 ? 1.01 : 1.0 + 1e-5 * normal(); });
}

TEST(LabelCheck, NamesTheFactorOfWrongUnits)
{
  const auto expect = [](const char *factor, const std::function<void(Label &)> &client) {
    for (const double strain : {0.0, 0.01}) {
      const std::string said =
          said_of({0.05, strain}, [&](Label &label, const WholeFrame &) { client(label); });
      EXPECT_NE(said.find(factor), std::string::npos) << said;
      EXPECT_NE(said.find("the work of its forces"), std::string::npos) << said;
    }
  };
  expect("change by -0.9", [](Label &label) {
    for (double &f : label.force) f = -f;
  });
  expect("change by 0.03", [](Label &label) { *label.energy /= 27.2114; });
  expect("change by 0.5", [](Label &label) {
    for (double &f : label.force) f *= 1.8897;
  });
}

TEST(LabelCheck, NamesAWrongVirial)
{
  const auto expect = [](const char *factor, double times) {
    const std::string said = said_of({0.02, 0.01}, [times](Label &label, const WholeFrame &) {
      for (double &v : *label.virial) v *= times;
    });
    EXPECT_NE(said.find(factor), std::string::npos) << said;
    EXPECT_NE(said.find("the work of its virial"), std::string::npos) << said;
    EXPECT_EQ(said.find("the work of its forces"), std::string::npos) << said;
  };
  expect("change by -0.9", -1.0);
  expect("change by -159 times", -1.0 / 160.2);
  // where the cell does not change nobody can know
  EXPECT_EQ(said_of({}, [](Label &label, const WholeFrame &) { *label.virial = {1, 2, 3}; }), "");
}

TEST(LabelCheck, ComparesOnlyWhatIsClose)
{
  const auto flip = [](Label &label, const WholeFrame &) {
    for (double &f : label.force) f = -f;
  };
  EXPECT_EQ(said_of({1.0, 0.0}, flip), "");   // jumps
  EXPECT_EQ(said_of({0.05, 0.3}, flip), "");  // of the cell
  const auto surface = [&flip](Label &label, const WholeFrame &frame) {
    flip(label, frame);
    label.energy.reset();
  };
  EXPECT_EQ(said_of({}, surface), "");
  EXPECT_EQ(said_of({0.05, 0.01},
                    [&flip](Label &label, const WholeFrame &frame) {
                      flip(label, frame);
                      label.virial.reset();
                    }),
            "");
}

// A label that is not converged, amid others.
TEST(LabelCheck, DoubtsOneThatContradictsOthers)
{
  int k = 0;
  EXPECT_EQ(said_of({0.02},
                    [&](Label &label, const WholeFrame &) {
                      if (k++ == 5) *label.energy += 3.0;
                    }),
            "");
  EXPECT_EQ(doubted, std::vector<int>{5});
}

TEST(LabelCheck, TheFirstOneMayBeTheWrongOne)
{
  int k = 0;
  const std::string said = said_of({0.02}, [&](Label &label, const WholeFrame &) {
    if (k++ == 0) *label.energy += 3.0;
  });
  EXPECT_EQ(doubted, std::vector<int>{1});  // the third one belongs to it
  EXPECT_NE(said.find("the label of step 0 contradicts several later ones"), std::string::npos)
      << said;
}

TEST(LabelCheck, CalculationsThatDoNotConvergeAreNoReference)
{
  for (const double displacement : {0.02, 0.04}) {
    const std::string said = said_of({displacement, 0.0, 20.0}, as_it_is);
    EXPECT_NE(said.find("do not belong together"), std::string::npos) << said;
    EXPECT_GE(doubted.size(), 4u);
  }
}

TEST(LabelCheck, NamesAnEnergyThatIsNotTheFreeEnergy)
{
  const std::string said =
      said_of({0.03}, [](Label &label, const WholeFrame &) { *label.energy *= 1.08; });
  EXPECT_NE(said.find("zero smearing"), std::string::npos) << said;
  EXPECT_TRUE(doubted.empty());
}

// A primitive cubic crystal: each atom is at a center of inversion.
TEST(LabelCheck, NamesForcesThatKeepTheSymmetryOfTheCrystal)
{
  WholeFrame crystal = start();
  crystal.box = {10.8, 0, 0, 0, 10.8, 0, 0, 0, 10.8};
  for (int i = 0; i < 64; ++i) {
    const int place[3] = {i / 16, i / 4 % 4, i % 4};
    for (int d = 0; d < 3; ++d) crystal.coord[3 * i + d] = 2.7 * place[d];
  }
  EXPECT_EQ(said_of({0.05}, as_it_is, crystal), "");
  const auto zero = [](Label &label, const WholeFrame &) {
    for (double &f : label.force) f = 0.0;
  };
  std::string said = said_of({0.05}, zero, crystal);
  EXPECT_NE(said.find("nosym"), std::string::npos) << said;
  // of one mirror alone: x of the atoms of a layer is that of its image
  const auto mirrored = [](Label &label, const WholeFrame &) {
    for (int i = 0; i < 64; ++i) {
      const int image = (4 - i / 16) % 4 * 16 + i % 16;
      if (image < i) continue;
      for (int d = 0; d < 3; ++d) {
        const double sign = d == 0 ? -1.0 : 1.0,
                     mean = 0.5 * (label.force[3 * i + d] + sign * label.force[3 * image + d]);
        label.force[3 * i + d] = mean;
        label.force[3 * image + d] = sign * mean;
      }
    }
  };
  said = said_of({0.05}, mirrored, crystal);
  EXPECT_NE(said.find("nosym"), std::string::npos) << said;
  // a hot start is near enough to the crystal
  said = said_of({0.05}, mirrored, [&] {
    std::mt19937 random(11);
    std::normal_distribution<double> shift(0.0, 0.05);
    for (double &x : crystal.coord) x += shift(random);
    return crystal;
  }());
  EXPECT_NE(said.find("nosym"), std::string::npos) << said;
}

// Labels of a potential with a baseline come without it.
TEST(LabelCheck, LooksAtLabelsAsTheReferenceGaveThem)
{
  LabelCheck check;
  WholeFrame frame = start();
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0.0, 0.03);
  for (int k = 0; k < pairs; ++k) {
    Label &baseline = frame.baseline.emplace();
    baseline.energy = 7.0 * k;
    baseline.force.assign(frame.coord.size(), 1.0 * k);
    baseline.virial.emplace().fill(2.0);
    Label label = morse(frame);
    dptrain::add(label, baseline, -1.0);
    const LabelCheck::Finding found = check.add(frame, label);
    EXPECT_EQ(found.proof + found.warning + found.doubt, "") << k;
    for (double &x : frame.coord) x += normal(random);
  }
}

// A client with another list of elements computes another molecule, as consistently.
TEST(LabelCheck, TellsOfForcesThatNoBondHas)
{
  WholeFrame water;
  water.box = {6, 0, 0, 0, 6, 0, 0, 0, 6};
  water.coord = {3, 3, 3, 3.96, 3, 3, 2.76, 3.93, 3};
  water.type = {0, 1, 1};
  Label label;
  label.energy = -458.6;
  label.force = {-5.68, -10.4, 0, 4.95, 2.58, 0, 0.67, 7.8, 0};
  const auto said = [&] { return LabelCheck({"O", "H"}).add(water, label).warning; };
  EXPECT_NE(said().find("11.8 eV/Angstrom, although no two atoms are nearer than 0.99"),
            std::string::npos)
      << said();
  for (double &f : label.force) f *= 0.5;
  EXPECT_EQ(said(), "");
  for (double &f : label.force) f *= 2.0;
  water.coord[3] = 3.7;  // a bond that is too short
  EXPECT_EQ(said(), "");
}

/// What is said of labels of two atoms at distances from 2.6 Angstrom along x and y, those in `wrong` by 3 eV; labels in doubt.
std::string said_at(const std::vector<std::array<double, 2>> &places, const std::vector<int> &wrong)
{
  LabelCheck check;
  std::string said;
  doubted.clear();
  for (int k = 0; k < static_cast<int>(places.size()); ++k) {
    WholeFrame frame;
    frame.box = {20, 0, 0, 0, 20, 0, 0, 0, 20};
    frame.type = {0, 0};
    frame.step = k;
    frame.coord = {5, 5, 5, 7.6 + places[k][0], 5 + places[k][1], 5};
    Label label = morse(frame);
    if (std::find(wrong.begin(), wrong.end(), k) != wrong.end()) *label.energy += 3.0;
    const LabelCheck::Finding found = check.add(frame, label);
    EXPECT_EQ(found.proof, "") << k;
    said += found.warning;
    if (!found.doubt.empty()) doubted.push_back(k);
  }
  return said;
}

// The label around which the others lie is wrong, and none of them is near another one.
TEST(LabelCheck, OneWrongLabelIsNoWrongReference)
{
  const std::string said =
      said_at({{0, 0}, {0.2, 0}, {-0.2, 0}, {0, 0.2}, {0, -0.2}, {0.02, 0}}, {0});
  EXPECT_NE(said.find("the label of step 0 contradicts several later ones"), std::string::npos);
  EXPECT_EQ(doubted, (std::vector<int>{1, 2}));
}

TEST(LabelCheck, WhatIsNearToALabelInDoubtAloneIsNot)
{
  EXPECT_EQ(said_at({{0, 0}, {0.2, 0}, {0.4, 0}}, {1}), "");
  EXPECT_EQ(doubted, std::vector<int>{1});
}

// Forces of a perfect crystal are zero in any cell.
TEST(LabelCheck, AStrainedCrystalHasItsSymmetry)
{
  LabelCheck check({"Cu"});
  for (int k = 0; k < 8; ++k) {
    const double a = 2.7 + 0.03 * k;
    WholeFrame crystal;
    crystal.box = {4 * a, 0, 0, 0, 10.8, 0, 0, 0, 10.8};
    for (int i = 0; i < 64; ++i) {
      const double place[3] = {a * (i / 16), 2.7 * (i / 4 % 4), 2.7 * (i % 4)};
      crystal.coord.insert(crystal.coord.end(), place, place + 3);
      crystal.type.push_back(0);
    }
    Label label = morse(crystal);
    for (double &f : label.force) f = std::round(1e8 * f) / 1e8;
    const LabelCheck::Finding found = check.add(crystal, label);
    EXPECT_EQ(found.proof + found.doubt, "") << k;
  }
}

// Of a box that shrinks as its atoms move the works of forces and virial change alike: no factor follows from that.
TEST(LabelCheck, ACollapsingBoxSaysNothing)
{
  LabelCheck check({"Cu"});
  WholeFrame frame = start();
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0.0, 0.002);
  for (int k = 0; k < 16; ++k) {
    const Label label = morse(frame);
    const LabelCheck::Finding found = check.add(frame, label);
    EXPECT_EQ(found.proof + found.doubt, "") << k;
    for (double &x : frame.box) x *= 0.99;
    for (std::size_t i = 0; i < frame.coord.size(); ++i)
      frame.coord[i] = 0.99 * frame.coord[i] + 0.01 * label.force[i] + normal(random);
  }
}

}  // namespace
}  // namespace dptrain
