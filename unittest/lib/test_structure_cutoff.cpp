// The cutoff that follows from structures, against distances of crystals.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "statistics/data/structure_cutoff.h"

namespace dptrain::test {

namespace {

struct Place {
  std::array<double, 3> x;  // in units of the lattice constant
  int type;
};

/// A cubic crystal.
WholeFrame crystal(double a, const std::vector<Place> &places)
{
  WholeFrame frame;
  frame.box = {a, 0, 0, 0, a, 0, 0, 0, a};
  for (const Place &place : places) {
    for (const double x : place.x) frame.coord.push_back(a * x);
    frame.type.push_back(place.type);
  }
  return frame;
}

const std::vector<Place> fcc{{{0, 0, 0}, 0}, {{.5, .5, 0}, 0}, {{.5, 0, .5}, 0}, {{0, .5, .5}, 0}};
const std::vector<Place> perovskite{
    {{0, 0, 0}, 0}, {{.5, .5, .5}, 1}, {{.5, .5, 0}, 2}, {{.5, 0, .5}, 2}, {{0, .5, .5}, 2}};

/// fcc with a second kind of atoms at this distance along the diagonal or an edge.
std::vector<Place> two_kinds(std::array<double, 3> shift)
{
  std::vector<Place> places = fcc;
  for (Place place : fcc) {
    for (int d = 0; d < 3; ++d) place.x[d] += shift[d];
    place.type = 1;
    places.push_back(place);
  }
  return places;
}

}  // namespace

TEST(StructureCutoff, FollowsFromTheDistanceOfNearestNeighbors)
{
  const auto rock_salt = two_kinds({.5, 0, 0}), zinc_blende = two_kinds({.25, .25, .25});
  struct Case {
    WholeFrame frame;
    std::vector<std::string> elements;
    double nearest, rcut;
  };
  const std::vector<Case> cases{
      {crystal(3.615, fcc), {"Cu"}, 3.615 / std::sqrt(2.0), 6.5},
      {crystal(5.64, rock_salt), {"Na", "Cl"}, 2.82, 7.5},
      {crystal(4.21, rock_salt), {"Mg", "O"}, 2.105, 5.5},
      {crystal(4.52, zinc_blende), {"Ga", "N"}, 4.52 * std::sqrt(3.0) / 4, 5.0},
      {crystal(5.431, zinc_blende), {"Si", "Si"}, 5.431 * std::sqrt(3.0) / 4, 6.0},
      {crystal(3.567, zinc_blende), {"C", "C"}, 3.567 * std::sqrt(3.0) / 4, 5.0},
      {crystal(6.3, perovskite), {"Cs", "Pb", "I"}, 3.15, 8.0},
      {crystal(5.3, fcc), {"Ar"}, 5.3 / std::sqrt(2.0), 8.0},
  };
  for (const Case &one : cases) {
    const StructureCutoff found = cutoff_of_structures({one.frame}, one.elements);
    EXPECT_NEAR(found.nearest.value_or(0.0), one.nearest, 1e-12) << one.elements.front();
    EXPECT_EQ(found.rcut, one.rcut) << one.elements.front();
  }
}

TEST(StructureCutoff, LeavesHydrogenAside)
{
  WholeFrame water;  // two molecules, oxygen atoms 2.8 Angstrom apart
  water.periodic = false;
  water.coord = {0, 0, 0, 0.96, 0, 0, -0.24, 0.93, 0, 2.8, 0, 0, 3.1, 0.9, 0, 3.1, -0.9, 0};
  water.type = {0, 1, 1, 0, 1, 1};
  const StructureCutoff found = cutoff_of_structures({water}, {"O", "H"});
  EXPECT_NEAR(found.nearest.value_or(0.0), 2.8, 1e-12);
  EXPECT_EQ(found.rcut, 7.5);
}

TEST(StructureCutoff, IsTheUsualOneWithoutNeighbors)
{
  WholeFrame alone;
  alone.periodic = false;
  alone.coord = {0, 0, 0, 0.74, 0, 0};
  alone.type = {0, 0};
  for (const auto &frames : {std::vector<WholeFrame>{}, std::vector<WholeFrame>{alone}}) {
    const StructureCutoff found = cutoff_of_structures(frames, {"H"});
    EXPECT_FALSE(found.nearest);
    EXPECT_EQ(found.rcut, 6.0);
    EXPECT_NE(text_of(found).find("there are no neighbors"), std::string::npos);
  }
}

TEST(StructureCutoff, IsTheUsualOneOfWhatIsNoElement)
{
  const WholeFrame frame = crystal(5.64, two_kinds({.5, 0, 0}));
  const StructureCutoff found = cutoff_of_structures({frame}, {"Na", "X"});
  EXPECT_FALSE(found.nearest);
  EXPECT_EQ(found.rcut, 6.0);
  EXPECT_NE(text_of(found).find("as X is no chemical element"), std::string::npos);
}

// Half of the atoms decide: one that has come close, or a few of another kind, do not.
TEST(StructureCutoff, IsThatOfMostAtoms)
{
  WholeFrame frame = crystal(5.64, two_kinds({.5, 0, 0}));
  frame.coord[0] += 0.8;
  const StructureCutoff found = cutoff_of_structures({frame}, {"Na", "Cl"});
  EXPECT_NEAR(found.nearest.value_or(0.0), 2.82, 1e-12);
  // that of all frames together
  const WholeFrame other = crystal(4.21, two_kinds({.5, 0, 0}));
  EXPECT_NEAR(cutoff_of_structures({other, frame, other}, {"Na", "Cl"}).nearest.value_or(0.0),
              2.105, 1e-12);
}

}  // namespace dptrain::test
