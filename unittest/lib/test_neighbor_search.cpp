// Neighbor lists made by kernels, against all pairs.
#include "neighbor/neighbor_search.h"

#include <algorithm>

#include "dptrain/base/error.h"
#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

struct Atoms {
  Vec x;
  std::vector<int> type, offsets{0};

  /// A frame of n atoms in a box of this size; every seventh is not in the model.
  void add_frame(int n, double size, std::uint64_t seed)
  {
    RandomEngine engine(seed);
    for (int i = 0; i < n; ++i) {
      for (int a = 0; a < 3; ++a) x.push_back(size * (random_uniform(engine) - 0.3));
      type.push_back(i % 7 == 6 ? -1 : i % 2);
    }
    offsets.push_back(offsets.back() + n);
  }
};

using Rows = std::vector<std::vector<int>>;

Rows all_pairs(const Atoms &atoms, double rcut)
{
  Rows rows;
  for (std::size_t f = 0; f + 1 < atoms.offsets.size(); ++f)
    for (int i = atoms.offsets[f]; i < atoms.offsets[f + 1]; ++i) {
      rows.emplace_back();
      for (int j = atoms.offsets[f]; j < atoms.offsets[f + 1]; ++j) {
        double r2 = 0.0;
        for (int a = 0; a < 3; ++a) r2 += std::pow(atoms.x[3 * j + a] - atoms.x[3 * i + a], 2);
        if (j != i && atoms.type[j] >= 0 && r2 <= rcut * rcut) rows.back().push_back(j);
      }
    }
  return rows;
}

// The lists of all atoms; `found` gets their lengths before they are cut to `capacity`.
Rows searched(NeighborSearch &search, const Atoms &atoms, double rcut, int capacity,
              std::vector<int> &found)
{
  const int n = atoms.offsets.back();
  std::vector<int> centers, frames;
  for (std::size_t f = 0; f + 1 < atoms.offsets.size(); ++f)
    for (int i = atoms.offsets[f]; i < atoms.offsets[f + 1]; ++i) {
      centers.push_back(i);
      frames.push_back(static_cast<int>(f));
    }
  const auto x = in_kernels<double>(atoms.x);
  const auto type = in_kernels<int>(atoms.type), center = in_kernels<int>(centers),
             frame = in_kernels<int>(frames);
  search.set(atoms.x.data(), atoms.offsets, x.data(), type.data(), rcut);
  auto size = zeros<int>(n);
  ChunkRows rows;
  NeighborSearch::Lists lists;
  search.find(center.data(), frame.data(), n, rcut, capacity, lists, rows, size.data());
  EXPECT_EQ(rows.max_size, capacity);
  found = size.to_host();
  std::vector<const int *> pointers(n);
  kernels::copy_out(pointers.data(), rows.row, n * sizeof(int *));
  Rows result;
  for (int i = 0; i < n; ++i) {
    std::vector<int> row(std::min(found[i], capacity));
    kernels::copy_out(row.data(), pointers[i], row.size() * sizeof(int));
    for (int &j : row) j &= rows.mask;
    result.push_back(row);
  }
  return result;
}

void check(const Atoms &atoms, double rcut)
{
  NeighborSearch search;
  std::vector<int> found;
  Rows rows = searched(search, atoms, rcut, 400, found);
  const Rows again = searched(search, atoms, rcut, 400, found);
  EXPECT_EQ(again, rows);  // the same order in every run
  for (auto &row : rows) std::sort(row.begin(), row.end());
  EXPECT_EQ(rows, all_pairs(atoms, rcut));
}

TEST(NeighborSearch, FindsAllPairsOfSeveralFrames)
{
  Atoms atoms;
  atoms.add_frame(150, 14.0, 1);
  atoms.add_frame(1, 5.0, 2);
  atoms.add_frame(90, 9.0, 3);
  check(atoms, 3.1);
  check(atoms, 30.0);  // one cell
}

TEST(NeighborSearch, AFewAtomsInALargeSpace)
{
  Atoms atoms;
  atoms.add_frame(60, 6.0, 4);
  for (int a = 0; a < 3; ++a) atoms.x[a] = 1e7;
  check(atoms, 2.0);
}

TEST(NeighborSearch, PairsAtTheCutoffAlongTheAxes)
{
  Atoms atoms;
  for (int i = 0; i < 40; ++i) {
    for (int a = 0; a < 3; ++a) atoms.x.push_back(a == i % 3 ? 0.7 * (i / 3) : 0.0);
    atoms.type.push_back(0);
  }
  atoms.offsets.push_back(40);
  check(atoms, 1.4);
  check(atoms, 0.7);
}

TEST(NeighborSearch, ListsAreCutWhereMemoryEndsAndCounted)
{
  Atoms atoms;
  atoms.add_frame(80, 5.0, 6);
  NeighborSearch search;
  std::vector<int> found;
  const Rows rows = searched(search, atoms, 4.0, 5, found), expected = all_pairs(atoms, 4.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[i], static_cast<int>(expected[i].size()));
    EXPECT_LE(rows[i].size(), 5u);
  }
}

TEST(NeighborSearch, RefusesPositionsThatAreNotFinite)
{
  Atoms atoms;
  atoms.add_frame(10, 5.0, 7);
  atoms.x[4] = NAN;
  NeighborSearch search;
  std::vector<int> found;
  EXPECT_THROW(searched(search, atoms, 3.0, 10, found), Error);
}

}  // namespace
}  // namespace dptrain::test
