// Edges of a chunk against a search written down plainly.
#include "neighbor/gather.h"

#include <algorithm>

#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

struct Edge {
  int neighbor, type;
  double d[3];
};

/// Atoms of several frames one after the other, lists of some centers, and the rules of one center type.
struct Scene {
  static constexpr int ntypes = 3;
  Vec x;
  std::vector<int> type, center, offset;
  std::vector<std::vector<int>> rows;
  double rcut = 4.0;
  std::vector<int> sel{100, 100, 100};
  std::vector<char> dropped{0, 0, 0}, hidden{0, 0, 0};
  int mask = 0x1FFFFFFF;
  bool limited = true;  // by sel

  /// Frames with random atoms of types -1 .. 2 in a box of 6 Angstrom; all their atoms but every fifth are centers, in
  /// whose lists the others of the frame stand in random order.
  explicit Scene(const std::vector<int> &sizes, std::uint64_t seed = 5)
  {
    RandomEngine engine(seed);
    for (int size : sizes) {
      const int begin = static_cast<int>(type.size());
      for (int i = 0; i < size; ++i) {
        for (int a = 0; a < 3; ++a) x.push_back(static_cast<float>(6.0 * random_uniform(engine)));
        type.push_back(static_cast<int>(random_index(engine, 4)) - 1);
      }
      for (int i = 0; i < size; ++i) {
        if (i % 5 == 4) continue;
        center.push_back(begin + i);
        offset.push_back(begin);
        std::vector<int> row;
        for (int j = 0; j < size; ++j)
          if (j != i) row.insert(row.begin() + random_index(engine, row.size() + 1), j);
        rows.push_back(row);
      }
    }
  }
  Edge edge(int i, int entry) const
  {
    const int j = (entry & mask) + offset[i];
    Edge e{j, type[j], {}};
    for (int a = 0; a < 3; ++a) e.d[a] = x[3 * j + a] - x[3 * center[i] + a];
    return e;
  }
  static double square(const Edge &e)
  {
    return e.d[0] * e.d[0] + e.d[1] * e.d[1] + e.d[2] * e.d[2];
  }
};

struct Found {
  std::vector<std::vector<Edge>> edges;  // by center
  std::vector<std::vector<double>> empty;
  std::int64_t overflow = 0;
  double smallest_r2 = HUGE_VAL;
};

/// DeePMD-kit's rule with sorted lists.
Found by_definition(const Scene &s)
{
  Found found;
  int slots = 0;
  for (int n : s.sel) slots += n;
  for (std::size_t i = 0; i < s.center.size(); ++i) {
    std::vector<Edge> near;  // in the order of the list
    for (int entry : s.rows[i]) {
      const Edge e = s.edge(static_cast<int>(i), entry);
      if (s.type[e.neighbor] < 0) continue;
      found.smallest_r2 = std::min(found.smallest_r2, Scene::square(e));
      if (Scene::square(e) < s.rcut * s.rcut) near.push_back(e);
    }
    std::vector<std::size_t> by_distance(near.size());
    std::iota(by_distance.begin(), by_distance.end(), 0);
    std::stable_sort(by_distance.begin(), by_distance.end(), [&](std::size_t a, std::size_t b) {
      return Scene::square(near[a]) < Scene::square(near[b]);
    });
    std::vector<int> count(Scene::ntypes, 0), total(Scene::ntypes, 0);
    std::vector<char> kept(near.size(), 0);
    for (std::size_t k = 0; k < by_distance.size(); ++k) {
      const int t = near[by_distance[k]].type;
      ++total[t];
      if (static_cast<int>(k) < slots && count[t] < s.sel[t]) {
        ++count[t];
        kept[by_distance[k]] = 1;
      }
    }
    bool over = static_cast<int>(near.size()) > slots;
    for (int t = 0; t < Scene::ntypes; ++t) over = over || total[t] > s.sel[t];
    found.overflow += over;
    found.edges.emplace_back();
    found.empty.emplace_back();
    for (std::size_t k = 0; k < near.size(); ++k) {
      const int t = near[k].type;
      if (!kept[k] || s.dropped[t] || s.hidden[t]) continue;
      found.edges.back().push_back(near[k]);
    }
    for (int t = 0; t < Scene::ntypes; ++t)
      found.empty.back().push_back(s.sel[t] - (s.hidden[t] ? 0 : count[t]));
  }
  return found;
}

template <class Real> Found gathered(const Scene &s)
{
  const int n = static_cast<int>(s.center.size());
  std::vector<int> first, size;
  int slots = 0, most = 0;
  std::vector<kernels::Array<int>> lists;
  std::vector<const int *> pointers;
  for (const auto &row : s.rows) {
    first.push_back(slots);
    size.push_back(static_cast<int>(row.size()));
    slots += size.back();
    most = std::max(most, size.back());
    lists.push_back(in_kernels<int>(row));
    pointers.push_back(lists.back().data());
  }
  const auto center = in_kernels<int>(s.center), place = in_kernels<int>(first),
             sizes = in_kernels<int>(size), offset = in_kernels<int>(s.offset),
             type = in_kernels<int>(s.type), sel = in_kernels<int>(s.sel);
  const auto dropped = in_kernels<char>(s.dropped), hidden = in_kernels<char>(s.hidden);
  const auto x = in_kernels<double>(s.x);
  const auto rows = in_kernels<const int *>(pointers);
  auto count = zeros<int>(n), neighbor = zeros<int>(slots), types = zeros<int>(slots);
  auto empty = zeros<Real>(n * Scene::ntypes);
  kernels::Array<Real> d[3];
  kernels::Edges<Real> e;
  e.num_centers = n;
  e.max_count = most;
  e.ntypes = Scene::ntypes;
  e.centers = center.data();
  e.first = place.data();
  e.count = count.data();
  e.neighbor = neighbor.data();
  e.type = types.data();
  for (int a = 0; a < 3; ++a) e.d[a] = d[a].resize(slots);
  e.empty = empty.data();
  ChunkRows chunk{x.data(), type.data(), rows.data(), sizes.data(), offset.data(), most, s.mask};
  bool any = false;
  for (int t = 0; t < Scene::ntypes; ++t) any = any || s.dropped[t] || s.hidden[t];
  const int total = std::accumulate(s.sel.begin(), s.sel.end(), 0);
  const ChunkRules rules{s.rcut,         total,         s.limited ? sel.data() : nullptr,
                         dropped.data(), hidden.data(), any};
  auto report = in_kernels<GatherReport>(std::vector<GatherReport>{{HUGE_VAL, 0, 0}});
  gather_edges(chunk, rules, e, report.data());

  Found found;
  found.overflow = report.to_host()[0].overflow;
  found.smallest_r2 = report.to_host()[0].smallest_r2;
  const auto counts = count.to_host(), neighbors = neighbor.to_host(),
             found_types = types.to_host();
  const Vec dx = to_host(d[0]), dy = to_host(d[1]), dz = to_host(d[2]), unused = to_host(empty);
  for (int i = 0; i < n; ++i) {
    found.edges.emplace_back();
    for (int k = first[i]; k < first[i] + counts[i]; ++k)
      found.edges.back().push_back({neighbors[k], found_types[k], {dx[k], dy[k], dz[k]}});
    found.empty.emplace_back(unused.begin() + i * Scene::ntypes,
                             unused.begin() + (i + 1) * Scene::ntypes);
  }
  return found;
}

template <class Real> class GatherTest : public testing::Test {
 protected:
  void check(const Scene &s, bool overflow = false)
  {
    const Found expected = by_definition(s), found = gathered<Real>(s);
    EXPECT_EQ(found.overflow, expected.overflow);
    EXPECT_EQ(expected.overflow > 0, overflow) << "the scene is not what it should be";
    EXPECT_EQ(found.smallest_r2, expected.smallest_r2);
    ASSERT_EQ(found.edges.size(), expected.edges.size());
    for (std::size_t i = 0; i < found.edges.size(); ++i) {
      EXPECT_EQ(found.empty[i], expected.empty[i]) << "center " << i;
      ASSERT_EQ(found.edges[i].size(), expected.edges[i].size()) << "center " << i;
      for (std::size_t k = 0; k < found.edges[i].size(); ++k) {
        const Edge &a = found.edges[i][k], &b = expected.edges[i][k];
        EXPECT_EQ(a.neighbor, b.neighbor) << "center " << i << " edge " << k;
        EXPECT_EQ(a.type, b.type);
        // differences of positions in float64, then rounded
        for (int c = 0; c < 3; ++c) EXPECT_EQ(a.d[c], static_cast<Real>(b.d[c]));
      }
    }
  }
};
TYPED_TEST_SUITE(GatherTest, Precisions, PrecisionName);

TYPED_TEST(GatherTest, ListsBeyondTheCutoffAndTypesOutsideTheModel)
{
  const Scene s({40});
  const Found expected = by_definition(s);
  std::size_t edges = 0, entries = 0;
  for (const auto &e : expected.edges) edges += e.size();
  for (const auto &row : s.rows) entries += row.size();
  ASSERT_LT(edges, entries / 2);
  this->check(s);
}

// The same edges as with places for all, and nothing is written to `empty`.
TYPED_TEST(GatherTest, WithoutALimitAllNeighborsAreKept)
{
  Scene s({40, 30});
  s.hidden = {0, 1, 0};
  const Found with_places = gathered<TypeParam>(s);
  s.sel = {0, 0, 0};
  s.limited = false;
  const Found found = gathered<TypeParam>(s);
  EXPECT_EQ(found.overflow, 0);
  for (std::size_t i = 0; i < found.edges.size(); ++i) {
    ASSERT_EQ(found.edges[i].size(), with_places.edges[i].size()) << "center " << i;
    for (std::size_t k = 0; k < found.edges[i].size(); ++k)
      EXPECT_EQ(found.edges[i][k].neighbor, with_places.edges[i][k].neighbor);
    EXPECT_EQ(found.empty[i], Vec(Scene::ntypes, 0.0));
  }
}

TYPED_TEST(GatherTest, FramesWithOffsetsAndBitsAboveTheMask)
{
  Scene s({12, 25, 1, 2, 17});
  for (auto &row : s.rows)
    for (std::size_t k = 0; k < row.size(); k += 2)
      row[k] |= 1 << 30;  // LAMMPS marks special bonds
  this->check(s);
  s.mask = 0x3F;
  for (auto &row : s.rows)
    for (int &entry : row) entry |= 0x40;
  this->check(s);
}

TYPED_TEST(GatherTest, TruncationInTwoStages)
{
  for (const std::vector<int> &sel :
       std::vector<std::vector<int>>{{3, 4, 2}, {100, 2, 100}, {1, 100, 1}, {0, 0, 0}, {0, 5, 1}}) {
    Scene s({40, 30});
    s.sel = sel;
    this->check(s, true);
  }
}

// Nearest 3 of all types first: the second B is dropped although sel[B] has room for it, as As are nearer.
TYPED_TEST(GatherTest, TotalOfSelComesBeforeTheTypes)
{
  Scene s({0});
  s.x = {0, 0, 0, 1.0, 0, 0, 0, 1.1, 0, 0, 0, 1.2, 2.0, 0, 0};
  s.type = {0, 0, 0, 0, 1};
  s.center = {0};
  s.offset = {0};
  s.rows = {{4, 3, 2, 1}};
  s.sel = {1, 2, 0};
  this->check(s, true);
  const Found found = gathered<TypeParam>(s);
  ASSERT_EQ(found.edges[0].size(), 1u);  // of {1, 2, 3} only the nearest A; B is the fourth
  EXPECT_EQ(found.edges[0][0].neighbor, 1);
  EXPECT_EQ(found.empty[0], (std::vector<double>{0, 2, 0}));
}

TYPED_TEST(GatherTest, EqualDistancesAreKeptInTheOrderOfTheList)
{
  Scene s({0});
  s.x = {0, 0, 0, 1.5, 0, 0, -1.5, 0, 0, 0, 1.5, 0, 0, 0, -1.5};
  s.type = {0, 0, 0, 0, 0};
  s.center = {0};
  s.offset = {0};
  s.rows = {{3, 1, 4, 2}};
  s.sel = {2, 0, 0};
  this->check(s, true);
}

TYPED_TEST(GatherTest, DroppedPairsFillTheirSlotsHiddenOnesDoNot)
{
  Scene s({40});
  s.dropped = {0, 1, 0};
  this->check(s);
  s.hidden = {0, 0, 1};
  this->check(s);
  s.sel = {2, 3, 2};
  this->check(s, true);
  s.dropped = {1, 1, 1};
  this->check(s, true);
}

TYPED_TEST(GatherTest, NoNeighborsAtAll)
{
  Scene s({1});
  this->check(s);
  EXPECT_EQ(gathered<TypeParam>(s).smallest_r2, HUGE_VAL);
  s = Scene({30});
  s.rcut = 1e-3;  // lists, but nothing inside
  this->check(s);
  std::fill(s.type.begin(), s.type.end(), -1);
  this->check(s);
  s = Scene({0});
  this->check(s);
}

TYPED_TEST(GatherTest, SmallestDistanceIncludesListsBeyondTheCutoff)
{
  Scene s({0});
  s.x = {0, 0, 0, 0, 5, 0};
  s.type = {0, 1};
  s.center = {0, 1};
  s.offset = {0, 0};
  s.rows = {{1}, {0}};
  this->check(s);
  EXPECT_EQ(gathered<TypeParam>(s).smallest_r2, 25.0);
}

}  // namespace
}  // namespace dptrain::test
