// The cell list against all pairs, and the lattice.

#include "neighbor/cell_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "neighbor/lattice.h"
#include "support/random_frame.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

/// Compares every row with a search over all atoms.
void compare_with_all_pairs(const std::vector<double> &x, int nlocal, double rcut)
{
  const int nall = static_cast<int>(x.size() / 3);
  const NeighborRows rows = build_neighbor_rows(x.data(), nlocal, nall, rcut);
  ASSERT_EQ(static_cast<int>(rows.first.size()), nlocal + 1);
  ASSERT_EQ(rows.first.back(), static_cast<int>(rows.neighbor.size()));
  for (int i = 0; i < nlocal; ++i) {
    std::vector<int> expected;
    for (int j = 0; j < nall; ++j)
      if (j != i && distance_squared(&x[3 * i], &x[3 * j]) <= rcut * rcut) expected.push_back(j);
    std::vector<int> found(rows.neighbor.begin() + rows.first[i],
                           rows.neighbor.begin() + rows.first[i + 1]);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << "atom " << i;
  }
}

std::vector<double> random_points(int n, double a, double b, double c, unsigned seed)
{
  Numbers random(seed);
  std::vector<double> x;
  for (int i = 0; i < n; ++i)
    for (double size : {a, b, c}) x.push_back(random(-size / 2, size));
  return x;
}

}  // namespace

TEST(CellList, FindsWhatAllPairsFind)
{
  compare_with_all_pairs(random_points(400, 20, 15, 30, 1), 150, 3.1);
  compare_with_all_pairs(random_points(200, 2, 40, 2, 2), 200, 2.5);
}

TEST(CellList, ManyAtomsInOneCell)
{
  compare_with_all_pairs(random_points(60, 1, 1, 1, 3), 20, 8.0);
}

TEST(CellList, FewAtomsInALargeSpace)
{
  std::vector<double> x = random_points(50, 4, 4, 4, 4);
  for (int k = 75; k < 150; ++k) x[k] += 1e7;  // two clusters: cells must become wider, not many
  compare_with_all_pairs(x, 50, 2.0);
}

TEST(CellList, TheCutoffIsIncluded)
{
  const std::vector<double> x{0, 0, 0, 3, 0, 0, 0, 3.0000001, 0};
  const NeighborRows rows = build_neighbor_rows(x.data(), 1, 3, 3.0);
  EXPECT_EQ(rows.neighbor, std::vector<int>{1});
}

TEST(CellList, NoAtoms)
{
  const NeighborRows rows = build_neighbor_rows(nullptr, 0, 0, 3.0);
  EXPECT_EQ(rows.first, std::vector<int>{0});
  EXPECT_TRUE(rows.neighbor.empty());
}

TEST(CellList, CostGrowsLinearly)
{
  // 8 times the atoms at equal density: the number of pairs grows 8 times and a bit (surface), not 64 times
  const auto pairs = [](double size, int n) {
    const auto x = random_points(n, size, size, size, 5);
    return build_neighbor_rows(x.data(), n, n, 4.0).neighbor.size();
  };
  EXPECT_LT(pairs(60, 80000), 12 * pairs(30, 10000));
}

TEST(CellList, BrokenInputIsNamed)
{
  std::vector<double> x{0, 0, 0, 1, std::numeric_limits<double>::quiet_NaN(), 0};
  expect_in("Atom 1", message_of([&] { build_neighbor_rows(x.data(), 2, 2, 3.0); }));
  x[4] = 0;
  expect_in("cutoff", message_of([&] { build_neighbor_rows(x.data(), 2, 2, 0.0); }));
}

TEST(Lattice, FractionalAndShiftFitTogether)
{
  const Lattice lattice(skewed_box(7.0));
  double x[3] = {1.5, -2.0, 11.0};
  const auto f = lattice.fractional(x);
  lattice.shift(x, {2, -3, 1});
  const auto g = lattice.fractional(x);
  EXPECT_NEAR(g[0] - f[0], 2.0, 1e-13);
  EXPECT_NEAR(g[1] - f[1], -3.0, 1e-13);
  EXPECT_NEAR(g[2] - f[2], 1.0, 1e-13);
  EXPECT_DOUBLE_EQ(Lattice(cubic_box(5.0)).height(1), 5.0);
}

TEST(Lattice, FlatOrBrokenCellsAreRefused)
{
  expect_in("no volume", message_of([] { Lattice({1, 0, 0, 0, 1, 0, 1, 1, 0}); }));
  expect_in("no volume", message_of([] { Lattice({0, 0, 0, 0, 0, 0, 0, 0, 0}); }));
  const double inf = std::numeric_limits<double>::infinity();
  expect_in("not finite", message_of([&] { Lattice({inf, 0, 0, 0, 1, 0, 0, 0, 1}); }));
}

}  // namespace dptrain::test
