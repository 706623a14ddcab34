// scatter_frame and the stored halo against sums over all images.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "dptrain/frames/whole_frame.h"
#include "frames/stored_halo.h"
#include "neighbor/lattice.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

constexpr double RCUT = 3.0;

using Vector = std::array<double, 3>;

/// Vectors to all neighbors of an atom by their types, sorted: from all atoms and all shifts that can matter.
std::vector<std::pair<int, Vector>> all_neighbors(const WholeFrame &whole, std::size_t i,
                                                  double rcut)
{
  std::array<int, 3> reach{};
  std::vector<double> x = whole.coord;
  if (whole.periodic) {
    const Lattice lattice(whole.box);
    for (int d = 0; d < 3; ++d) reach[d] = static_cast<int>(rcut / lattice.height(d)) + 2;
    for (std::size_t j = 0; j < whole.type.size(); ++j) {
      const auto f = lattice.fractional(&x[3 * j]);
      lattice.shift(&x[3 * j],
                    {-static_cast<int>(std::floor(f[0])), -static_cast<int>(std::floor(f[1])),
                     -static_cast<int>(std::floor(f[2]))});
    }
  }
  std::vector<std::pair<int, Vector>> found;
  for (std::size_t j = 0; j < whole.type.size(); ++j)
    for (int a = -reach[0]; a <= reach[0]; ++a)
      for (int b = -reach[1]; b <= reach[1]; ++b)
        for (int c = -reach[2]; c <= reach[2]; ++c) {
          if (i == j && a == 0 && b == 0 && c == 0) continue;
          Vector d;
          for (int k = 0; k < 3; ++k)
            d[k] = x[3 * j + k] + a * whole.box[k] * whole.periodic +
                   b * whole.box[3 + k] * whole.periodic + c * whole.box[6 + k] * whole.periodic -
                   x[3 * i + k];
          if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= rcut * rcut)
            found.push_back({whole.type[j], d});
        }
  return found;
}

/// Fails unless both lists hold the same vectors, in any order, to 1e-9 (rounding of images far from the origin).
void expect_same(std::vector<std::pair<int, Vector>> found,
                 const std::vector<std::pair<int, Vector>> &expected)
{
  ASSERT_EQ(found.size(), expected.size());
  for (const auto &[type, d] : expected) {
    const auto match =
        std::find_if(found.begin(), found.end(), [&, t = type, v = d](const auto &other) {
          return other.first == t && std::abs(other.second[0] - v[0]) < 1e-9 &&
                 std::abs(other.second[1] - v[1]) < 1e-9 && std::abs(other.second[2] - v[2]) < 1e-9;
        });
    ASSERT_NE(match, found.end());
    found.erase(match);
  }
}

void check_neighbors(const WholeFrame &whole, double rcut)
{
  const auto comm = world();
  const Frame frame = scatter_frame(comm, whole, rcut);
  const Domain domain = frame.domain();
  std::int64_t atoms = domain.num_centers;
  comm->all_reduce_sum(&atoms, 1);
  EXPECT_EQ(atoms, static_cast<std::int64_t>(whole.type.size()));
  for (int i = 0; i < domain.nlocal; ++i) {
    std::vector<std::pair<int, Vector>> found;
    for (int k = 0; k < domain.num_neighbors[i]; ++k) {
      const int j = domain.neighbors[i][k] & domain.neighbor_mask;
      ASSERT_LT(j, domain.nall);
      found.push_back(
          {domain.type[j],
           {domain.x[3 * j] - domain.x[3 * i], domain.x[3 * j + 1] - domain.x[3 * i + 1],
            domain.x[3 * j + 2] - domain.x[3 * i + 2]}});
    }
    expect_same(found, all_neighbors(whole, frame.tag[i] - 1, rcut));
  }
}

}  // namespace

TEST(ScatterFrame, NeighborsAreThoseOfAllImages)
{
  check_neighbors(random_frame(1, 60, cubic_box(9.0), true, 1.2), RCUT);
  check_neighbors(random_frame(2, 60, skewed_box(9.0), true, 1.2), RCUT);
  check_neighbors(random_frame(3, 40, cubic_box(12.0), false, 1.2), RCUT);
}

TEST(ScatterFrame, CellsSmallerThanTheCutoff)
{
  check_neighbors(random_frame(4, 4, skewed_box(2.6), true, 0.7), 5.0);
  check_neighbors(random_frame(5, 1, cubic_box(2.0), true, 0.7), 5.0);  // only images of itself
  std::array<double, 9> flat = skewed_box(3.0);
  for (int c = 6; c < 9; ++c) flat[c] *= 0.4;
  check_neighbors(random_frame(6, 3, flat, true, 0.4), 4.0);
}

TEST(ScatterFrame, SeveralFramesOnManyRanksWithFewAtoms)
{
  for (int n = 1; n < 6; ++n)
    check_neighbors(random_frame(10 + n, n, cubic_box(6.0), false, 1.0), RCUT);
}

TEST(ScatterFrame, RanksOwnEqualNumbers)
{
  const auto comm = world();
  const Frame frame = scatter_frame(comm, random_frame(1, 61, skewed_box(9.0), true, 1.2), RCUT);
  std::int64_t bounds[2] = {frame.nlocal, -frame.nlocal};
  comm->all_reduce_max(bounds, 2);
  EXPECT_LE(bounds[0] + bounds[1], 1);
}

TEST(Halo, GhostsGetTheValueOfTheirOwner)
{
  const auto comm = world();
  const WholeFrame whole = random_frame(8, 30, skewed_box(4.0), true, 0.8);
  const Frame frame = scatter_frame(comm, whole, RCUT);
  ASSERT_TRUE(frame.nall() > frame.nlocal);
  std::vector<double> x = frame.x;
  std::fill(x.begin() + 3 * frame.nlocal, x.end(), 0.0);
  frame.halo->exchange(x.data(), 3);
  const Lattice lattice(whole.box);
  for (int g = frame.nlocal; g < frame.nall(); ++g) {
    const auto f = lattice.fractional(&frame.x[3 * g]), owner = lattice.fractional(&x[3 * g]);
    for (int d = 0; d < 3; ++d) EXPECT_NEAR(f[d] - owner[d], std::round(f[d] - owner[d]), 1e-12);
  }
}

TEST(Halo, ReduceIsTheTransposeOfExchange)
{
  // <a, exchange b> over all atoms and ghosts = <reduce a, b> over owned atoms
  const auto comm = world();
  const Frame frame = scatter_frame(comm, random_frame(9, 50, cubic_box(5.0), true, 0.8), RCUT);
  const int width = 2, n = frame.nall() * width, own = frame.nlocal * width;
  Numbers random(17 + comm->rank());
  std::vector<double> a(n), b(n);
  for (double &v : a) v = random(-1, 1);
  for (int k = 0; k < own; ++k) b[k] = random(-1, 1);
  std::vector<double> spread = b, folded = a;
  frame.halo->exchange(spread.data(), width);
  frame.halo->reduce(folded.data(), width);
  double sums[2] = {0.0, 0.0};
  for (int k = 0; k < n; ++k) sums[0] += a[k] * spread[k];
  for (int k = 0; k < own; ++k) sums[1] += folded[k] * b[k];
  comm->all_reduce_sum(sums, 2);
  EXPECT_NEAR(sums[0], sums[1], 1e-11);  // rounding of some 10^4 terms
  EXPECT_TRUE(std::equal(a.begin() + own, a.end(), folded.begin() + own));
}

TEST(Halo, AnOwnerThatDoesNotExistStopsAllRanks)
{
  const auto comm = world();
  const int bad = comm->rank() == comm->size() - 1 ? 99 : 0;
  expect_in("has no owner", message_of([&] { StoredHalo(comm, 2, {0}, {bad}); }));
}

TEST(ScatterFrame, BrokenFramesAreRefused)
{
  const auto comm = world();
  const auto message = [&](const WholeFrame &frame) {
    return message_of([&] { scatter_frame(comm, frame, RCUT); });
  };
  const WholeFrame good = random_frame(11, 8, cubic_box(6.0), true, 0.8);
  WholeFrame bad = good;
  bad.coord[7] = std::numeric_limits<double>::quiet_NaN();
  expect_in("position of atom 3", message(bad));
  bad = good;
  bad.box = {1, 0, 0, 0, 1, 0, 1, 1, 0};
  expect_in("no volume", message(bad));
  bad = good;
  bad.box = cubic_box(1e-6);
  expect_in("check the units", message(bad));
  bad = good;
  bad.coord.pop_back();
  expect_in("3 per atom", message(bad));
  bad = good;
  bad.label.force.pop_back();
  expect_in("force components", message(bad));
  expect_in("no atoms", message(WholeFrame()));
}

}  // namespace dptrain::test
