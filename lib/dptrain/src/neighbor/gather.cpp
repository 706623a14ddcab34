#include "neighbor/gather.h"

#include <cfloat>

#include "kernels/kokkos_types.h"

namespace dptrain {
namespace {

using kernels::Team;
using kernels::team_for;
using kernels::team_sum;

// Distances of all entries of one list, in the scratch memory of the team.
struct Candidates {
  double *d[3], *r2;
  char *keep;

  static std::size_t bytes(int n) { return static_cast<std::size_t>(n + 8) / 8 * 8 * 33 + 64; }
  KOKKOS_FORCEINLINE_FUNCTION static Candidates make(char *scratch, int n)
  {
    auto *memory = reinterpret_cast<double *>(scratch);
    const int size = (n + 8) / 8 * 8;
    return {{memory, memory + size, memory + 2 * size},
            memory + 3 * size,
            reinterpret_cast<char *>(memory + 4 * size)};
  }
};

// Entry k of a list.
KOKKOS_FORCEINLINE_FUNCTION int entry(const int *row, std::ptrdiff_t stride, int k)
{
#if DPTRAIN_DEVICE_PASS
  return row[k * stride];
#else
  (void) stride;
  return row[k];
#endif
}

// compress() by the first thread of the team; all lanes get the number.
template <class Keep, class Put>
KOKKOS_FORCEINLINE_FUNCTION int team_compress(const Team &team, int n, const Keep &keep,
                                              const Put &put)
{
#if DPTRAIN_DEVICE_PASS
  if (team.team_rank() == 0) kernels::compress(team, n, keep, put);
  team.team_barrier();
  return team_sum<int>(team, n, [&](int k) { return keep(k) ? 1 : 0; });
#else
  return kernels::compress(team, n, keep, put);
#endif
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void move_edge(const kernels::Edges<Real> &edges, int from, int to)
{
  edges.neighbor[to] = edges.neighbor[from];
  edges.type[to] = edges.type[from];
  for (int a = 0; a < 3; ++a) edges.d[a][to] = edges.d[a][from];
}

// Keeps the edges that are marked, in order. One lane: it is rare.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION int keep_marked(const Team &team, const kernels::Edges<Real> &edges,
                                            const char *marked, int first, int n)
{
  Kokkos::single(Kokkos::PerTeam(team), [&]() {
    int place = 0;
    for (int k = 0; k < n; ++k)
      if (marked[k]) move_edge(edges, first + k, first + place++);
  });
  const int kept = team_sum<int>(team, n, [=](int k) { return marked[k] ? 1 : 0; });
#if DPTRAIN_DEVICE_PASS
  team.team_barrier();
#endif
  return kept;
}

// The places of an edge among all by distance, and among those of its type, decide.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION int truncate(const Team &team, const ChunkRules &rules,
                                         const kernels::Edges<Real> &edges, const Candidates &c,
                                         int first, int n)
{
  const auto square = [=](int k) {
    const double x = edges.d[0][first + k], y = edges.d[1][first + k], z = edges.d[2][first + k];
    return x * x + y * y + z * z;
  };
  team_for(team, n, [=](int k) { c.r2[k] = square(k); });
  team_for(team, n, [=](int k) {
    int nearer = 0, nearer_of_type = 0;
    for (int l = 0; l < n; ++l) {
      const bool before = c.r2[l] < c.r2[k] || (c.r2[l] == c.r2[k] && l < k);
      nearer += before;
      nearer_of_type += before && edges.type[first + l] == edges.type[first + k];
    }
    c.keep[k] = nearer < rules.slots && nearer_of_type < rules.sel[edges.type[first + k]];
  });
  return keep_marked(team, edges, c.keep, first, n);
}

KOKKOS_FORCEINLINE_FUNCTION void take_larger(const Team &team, int *target, int value)
{
  Kokkos::single(Kokkos::PerTeam(team), [&]() {
#if DPTRAIN_DEVICE_PASS
    kernels::atomic_max(target, value);
#else
    if (value > *target) *target = value;
#endif
  });
}

KOKKOS_FORCEINLINE_FUNCTION double smallest(const Team &team, const double *values, int n)
{
  double least = HUGE_VAL;
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_reduce(
      Kokkos::TeamVectorRange(team, n),
      [&](int k, double &part) { part = values[k] < part ? values[k] : part; },
      Kokkos::Min<double>(least));
  if (least == DBL_MAX) least = HUGE_VAL;  // where there is none, Kokkos says the largest number
#else
  (void) team;
  _Pragma("omp simd reduction(min : least)") for (int k = 0; k < n; ++k) least =
      values[k] < least ? values[k] : least;
#endif
  return least;
}

// Distances of the list's entries; those that cannot be edges get an infinite one.
KOKKOS_FORCEINLINE_FUNCTION void measure(const Team &team, const ChunkRows &rows,
                                         const Candidates &c, int i, int atom, int size)
{
  const double *x = rows.x;
  const int *row = rows.row[i], *type = rows.type;
  const int offset = rows.offset[i], mask = rows.mask;
  const std::ptrdiff_t stride = rows.entry_stride;
  const double x0 = x[3L * atom], x1 = x[3L * atom + 1], x2 = x[3L * atom + 2];
  team_for(team, size, [=](int k) DPTRAIN_ALWAYS_INLINE {
    const int j = (entry(row, stride, k) & mask) + offset;
    const double *xj = x + 3L * j;
    const double dx = xj[0] - x0, dy = xj[1] - x1, dz = xj[2] - x2;
    const double r2 = dx * dx + dy * dy + dz * dz;
    c.d[0][k] = dx;
    c.d[1][k] = dy;
    c.d[2][k] = dz;
    c.r2[k] = type[j] < 0 ? HUGE_VAL : r2;
  });
}

// Unused slots per type, edges of excluded pairs away. Returns the number of edges.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION int finish(const Team &team, const ChunkRules &rules,
                                       const kernels::Edges<Real> &edges, const Candidates &c,
                                       int i, int first, int n)
{
  for (int t = 0; t < edges.ntypes && rules.sel; ++t) {
    const int found =
        team_sum<int>(team, n, [=](int k) { return edges.type[first + k] == t ? 1 : 0; });
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      edges.empty[i * edges.ntypes + t] =
          static_cast<Real>(rules.sel[t] - (rules.hidden[t] ? 0 : found));
    });
  }
  if (rules.any_excluded) {
    team_for(team, n, [=](int k) {
      const int t = edges.type[first + k];
      c.keep[k] = !rules.dropped[t] && !rules.hidden[t];
    });
    n = keep_marked(team, edges, c.keep, first, n);
  }
  return n;
}

}  // namespace

template <class Real>
void gather_edges(const ChunkRows &rows, const ChunkRules &rules, const kernels::Edges<Real> &edges,
                  GatherReport *reports, int num_reports)
{
  const std::size_t bytes = Candidates::bytes(rows.max_size);
  const double rc2 = rules.rcut * rules.rcut;
  kernels::launch_shared(
      "dptrain::gather_edges", edges.num_centers, num_reports, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        GatherReport *report = reports + copy;
        const int first = edges.first[i], listed = rows.row_size[i];
        const int size = listed < rows.max_size ? listed : rows.max_size;
        const Candidates c = Candidates::make(memory, rows.max_size);
        measure(team, rows, c, i, edges.centers[i], size);
        const int *row = rows.row[i];
        int n = team_compress(
            team, size, [=](int k) { return c.r2[k] < rc2; },
            [=](int k, int place) {
              const int j = (entry(row, rows.entry_stride, k) & rows.mask) + rows.offset[i],
                        slot = first + place;
              edges.neighbor[slot] = j;
              edges.type[slot] = rows.type[j];
              for (int a = 0; a < 3; ++a) edges.d[a][slot] = static_cast<Real>(c.d[a][k]);
            });
        const double *x = rows.x + 3L * edges.centers[i], sum = x[0] + x[1] + x[2];
        const double closest = sum - sum == 0.0 ? smallest(team, c.r2, size) : -1.0;
        Kokkos::single(Kokkos::PerTeam(team),
                       [&]() { kernels::take_smaller(&report->smallest_r2, closest); });
        if (listed > rows.max_size) take_larger(team, &report->largest_row, listed);
        bool over = rules.sel && n > rules.slots;
        for (int t = 0; t < edges.ntypes && rules.sel && !over; ++t)
          over = team_sum<int>(team, n, [=](int k) { return edges.type[first + k] == t ? 1 : 0; }) >
                 rules.sel[t];
        if (over) {
          Kokkos::single(Kokkos::PerTeam(team),
                         [&]() { kernels::add_shared(&report->overflow, std::int64_t(1)); });
          n = truncate(team, rules, edges, c, first, n);
        }
        n = finish(team, rules, edges, c, i, first, n);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { edges.count[i] = n; });
      });
}

template void gather_edges(const ChunkRows &, const ChunkRules &, const kernels::Edges<double> &,
                           GatherReport *, int);
template void gather_edges(const ChunkRows &, const ChunkRules &, const kernels::Edges<float> &,
                           GatherReport *, int);

}  // namespace dptrain
