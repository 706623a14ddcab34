#pragma once

// Kernels of the moments, for whoever brings a basis.

#include "kernels/moments.h"

#include "kernels/edge_forces.h"
#include "kernels/harmonics.h"
#include "kernels/limits.h"

namespace dptrain::kernels {

/// So many edges at once have their functions and harmonics in the fast memory of the team.
constexpr int block_edges = on_device ? 64 : 128;

/// Columns of a block: functions and harmonics of so many entries, which are edges, or for tangents two of each edge.
template <class Real> struct Columns {
  using L = Lanes<Real>;
  L *function, *harmonic;
  int stride;  ///< from a column to the next

  /// On a device odd, so that lanes that read different columns do not wait for each other.
  static constexpr int size = block_edges / num_lanes<Real> + (on_device ? 1 : 0);
  static std::size_t bytes(int functions, int rows)
  {
    return static_cast<std::size_t>(functions + rows) * size * sizeof(L) + 128;
  }
  KOKKOS_FORCEINLINE_FUNCTION Columns(char *memory, int functions) :
      function(reinterpret_cast<L *>(memory)), harmonic(function + functions * size), stride(size)
  {
  }
};

/// Some edges of a center.
template <class L> struct Edge {
  L x, y, z;  ///< unit vector to the neighbor
  L r, inv_r;
};

/// The edges from slot `slot` on, n of them; lanes that are left over get one beyond the cutoff, where all vanishes.
template <class Real, class Basis>
KOKKOS_FORCEINLINE_FUNCTION Edge<Lanes<Real>> load_edge(const Moments<Real, Basis> &m, int slot,
                                                        int n)
{
  using L = Lanes<Real>;
  L x, y, z;
  if (n >= num_lanes<Real>) {
    x = load_lanes(m.edges.d[0] + slot);
    y = load_lanes(m.edges.d[1] + slot);
    z = load_lanes(m.edges.d[2] + slot);
  } else {
    x = load_lanes(m.edges.d[0] + slot, n, 2 * m.basis.rcut);
    y = load_lanes(m.edges.d[1] + slot, n, Real(0));
    z = load_lanes(m.edges.d[2] + slot, n, Real(0));
  }
  Edge<L> e;
  e.r = sqrt_of<Real>(x * x + y * y + z * z);
  e.inv_r = Real(1) / e.r;
  e.x = x * e.inv_r;
  e.y = y * e.inv_r;
  e.z = z * e.inv_r;
  return e;
}

/// The distances of edges to neighbors of a type as the radial functions see them.
template <class Real, class Basis>
KOKKOS_FORCEINLINE_FUNCTION SeenDistance<Real, Lanes<Real>>
seen_distance(const Moments<Real, Basis> &m, int type, const Edge<Lanes<Real>> &e)
{
  return {e.r, e.inv_r, m.near ? m.near[type] : Real(0)};
}

/// The edges of a center with neighbors of one type.
struct Run {
  int first, count;  ///< slots
};

template <class Real, class Basis>
KOKKOS_FORCEINLINE_FUNCTION Run run_of(const Moments<Real, Basis> &m, int center, int type)
{
  const int *begin = m.runs + static_cast<long>(center) * (m.edges.ntypes * m.parts + 1) +
                     static_cast<long>(type) * m.parts;
  return {m.edges.first[center] + begin[0], begin[m.used] - begin[0]};
}

/// Where the moments of a center with neighbors of a type begin, and the distance from one function to the next.
template <class Real, class Basis>
KOKKOS_FORCEINLINE_FUNCTION long place_of(const Moments<Real, Basis> &m, int center, int type)
{
  return (static_cast<long>(type) * m.basis.size * m.edges.num_centers + center) *
         num_harmonics(m.l_max);
}

#if DPTRAIN_VECTOR_LANES
/// Products of `functions` columns with `rows` columns, in registers.
template <int functions, int rows, class Real>
void add_tile(const Lanes<Real> *f, const Lanes<Real> *y, int stride, int entries, bool add,
              Real *out, long out_stride)
{
  using L = Lanes<Real>;
  L sum[functions][rows] = {};
  for (int e = 0; e < entries; ++e) {
    L factor[functions];
    unrolled<functions>([&](auto k) DPTRAIN_ALWAYS_INLINE { factor[k] = f[k * stride + e]; });
    unrolled<rows>([&](auto row) DPTRAIN_ALWAYS_INLINE {
      const L value = y[row * stride + e];
      unrolled<functions>([&](auto k) DPTRAIN_ALWAYS_INLINE { sum[k][row] += factor[k] * value; });
    });
  }
  unrolled<functions>([&](auto k) DPTRAIN_ALWAYS_INLINE {
    Real *target = out + k * out_stride;
    if constexpr (rows == 4)
      store_sums<Real>(sum[k][0], sum[k][1], sum[k][2], sum[k][3], add, target);
    else
      unrolled<rows>([&](auto row) DPTRAIN_ALWAYS_INLINE {
        target[row] = (add ? target[row] : Real(0)) + sum_of_lanes<Real>(sum[k][row]);
      });
  });
}

/// work(begin, n) for blocks of at most `most` of `number` functions, n a constant.
template <int most, class Work> void for_function_blocks(int number, const Work &work)
{
  for (int begin = 0; begin < number; begin += most) {
    const int left = number - begin;
    if (left >= most)
      work(begin, Constant<most>());
    else
      unrolled<most>([&](auto n) DPTRAIN_ALWAYS_INLINE {
        if (n > 0 && left == n) work(begin, Constant<(n > 0 ? int(n) : 1)>());
      });
  }
}
#endif

/// The products of all functions with all harmonics, summed over the entries of a block: set, or added to, `out`.
template <int l_max, class Real>
KOKKOS_FORCEINLINE_FUNCTION void sum_products(const Team &team, const Columns<Real> &c,
                                              int functions, int entries, bool add, Real *out,
                                              long out_stride)
{
  constexpr int rows = num_harmonics(l_max);
#if !DPTRAIN_VECTOR_LANES
  team_for(team, functions * rows, [=](int k) {
    const Real *f = c.function + k / rows * c.stride, *y = c.harmonic + k % rows * c.stride;
    Real *target = out + k / rows * out_stride + k % rows;
    Real sum = add ? *target : Real(0);
    for (int e = 0; e < entries; ++e) sum += f[e] * y[e];
    *target = sum;
  });
#else
  (void) team;
  // as many sums as leave registers for what is multiplied
  constexpr int tile_rows = rows < 4 ? rows : 4, tile_functions = vector_registers == 32 ? 5 : 2;
  for_function_blocks<tile_functions>(functions, [&](int begin, auto n) DPTRAIN_ALWAYS_INLINE {
    const auto *f = c.function + begin * c.stride;
    Real *target = out + begin * out_stride;
    for (int row = 0; row + tile_rows <= rows; row += tile_rows)
      add_tile<n, tile_rows>(f, c.harmonic + row * c.stride, c.stride, entries, add, target + row,
                             out_stride);
    if constexpr (rows % tile_rows > 0) {
      constexpr int row = rows / tile_rows * tile_rows;
      add_tile<n, rows % tile_rows>(f, c.harmonic + row * c.stride, c.stride, entries, add,
                                    target + row, out_stride);
    }
  });
#endif
}

/// Blocks of the edges of a center with neighbors of one type: fill(slot, edges, entry) for each of its lanes' loads, which
/// puts `per_edge` entries, `distance` from each other, into the columns.
template <int l_max, int per_edge, class Real, class Basis, class Fill>
KOKKOS_FORCEINLINE_FUNCTION void sum_run(const Team &team, const Moments<Real, Basis> &m,
                                         const Columns<Real> &c, int center, int type, Real *out,
                                         const Fill &fill)
{
  constexpr int rows = num_harmonics(l_max), lanes = num_lanes<Real>;
  const Run run = run_of(m, center, type);
  const long stride = static_cast<long>(m.edges.num_centers) * rows;
  Real *target = out + place_of(m, center, type);
  if (run.count == 0)
    for_lanes(team, m.basis.size, [=](int k) {
      for (int row = 0; row < rows; ++row) target[k * stride + row] = 0;
    });
  constexpr int most = block_edges / per_edge;
  for (int begin = 0; begin < run.count; begin += most) {
    const int edges = run.count - begin < most ? run.count - begin : most;
    const int loads = (edges + lanes - 1) / lanes;
    for_lanes(team, loads, [=](int p) DPTRAIN_ALWAYS_INLINE {
      fill(run.first + begin + p * lanes, edges - p * lanes, p, loads);
    });
    sum_products<l_max>(team, c, m.basis.size, per_edge * loads, begin > 0, target, stride);
  }
}

template <int l_max, class Real, class Basis>
void moments_value_kernel(const Moments<Real, Basis> &m, Real *moments)
{
  constexpr int rows = num_harmonics(l_max);
  using L = Lanes<Real>;
  const std::size_t bytes = Columns<Real>::bytes(m.basis.size, rows);
  launch(
      "dptrain::moments_value", one_team_each(m.edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const Columns<Real> c(team_scratch(team, bytes), m.basis.size);
        for (int type = 0; type < m.edges.ntypes; ++type)
          sum_run<l_max, 1>(team, m, c, team.league_rank(), type, moments,
                            [=](int slot, int edges, int entry, int) DPTRAIN_ALWAYS_INLINE {
                              const Edge<L> e = load_edge(m, slot, edges);
                              const auto seen = seen_distance(m, type, e);
                              m.basis.evaluate(type, seen.s, seen.inv_s,
                                               [=](int k, L b, L) DPTRAIN_ALWAYS_INLINE {
                                                 c.function[k * c.stride + entry] = b;
                                               });
                              Harmonics<l_max, Real, L>(e.x, e.y, e.z)
                                  .values([=](auto k, L y) DPTRAIN_ALWAYS_INLINE {
                                    c.harmonic[k * c.stride + entry] = y;
                                  });
                            });
      });
}

/// A displacement of neighbors against their center, and the strain of its frame.
template <class Real> struct Motion {
  const double *all, *own;
  long step;
  Real strain[9];

  KOKKOS_FORCEINLINE_FUNCTION Motion(const Edges<Real> &edges, int center, const double *r,
                                     const double *strains) :
      all(r), own(nullptr), step(0)
  {
    const double *s = strains + 9L * edges.frame[center];
    for (int k = 0; k < 9; ++k) strain[k] = static_cast<Real>(s[k]);
    if (r) own = r + 3L * edges.centers[center];
  }
  /// Of the n edges from `slot` on, those of left-over lanes zero.
  KOKKOS_FORCEINLINE_FUNCTION void of(const Edges<Real> &edges, int slot, int n,
                                      const Edge<Lanes<Real>> &e, Lanes<Real> (&u)[3]) const
  {
    Real moved[3][num_lanes<Real>] = {};
    if (all)
      for (int k = 0; k < num_lanes<Real> && k < n; ++k) {
        const double *other = all + 3L * edges.neighbor[slot + k];
        for (int a = 0; a < 3; ++a) moved[a][k] = static_cast<Real>(other[a] - own[a]);
      }
    const Lanes<Real> x = e.r * e.x, y = e.r * e.y, z = e.r * e.z;
    for (int a = 0; a < 3; ++a)
      u[a] =
          load_lanes(moved[a]) + strain[3 * a] * x + strain[3 * a + 1] * y + strain[3 * a + 2] * z;
  }
};

// The tangent of a product is the sum of two, so an edge has two entries.
template <int l_max, class Real, class Basis>
void moments_jvp_kernel(const Moments<Real, Basis> &m, const double *r, const double *strain,
                        Real *moments_dot)
{
  constexpr int rows = num_harmonics(l_max);
  using L = Lanes<Real>;
  const std::size_t bytes = Columns<Real>::bytes(m.basis.size, rows);
  launch(
      "dptrain::moments_jvp", one_team_each(m.edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const int center = team.league_rank();
        const Columns<Real> c(team_scratch(team, bytes), m.basis.size);
        const Motion<Real> motion(m.edges, center, r, strain);
        for (int type = 0; type < m.edges.ntypes; ++type)
          sum_run<l_max, 2>(team, m, c, center, type, moments_dot,
                            [=](int slot, int edges, int entry, int entries) DPTRAIN_ALWAYS_INLINE {
                              const Edge<L> e = load_edge(m, slot, edges);
                              L u[3];
                              motion.of(m.edges, slot, edges, e, u);
                              const L along = u[0] * e.x + u[1] * e.y + u[2] * e.z;
                              const int second = entry + entries;
                              const auto seen = seen_distance(m, type, e);
                              const L radial = along * seen.slope;
                              m.basis.evaluate(type, seen.s, seen.inv_s,
                                               [=](int k, L b, L db) DPTRAIN_ALWAYS_INLINE {
                                                 c.function[k * c.stride + entry] = db * radial;
                                                 c.function[k * c.stride + second] = b;
                                               });
                              const Harmonics<l_max, Real, L> y(e.x, e.y, e.z);
                              y.values([=](auto k, L value) DPTRAIN_ALWAYS_INLINE {
                                c.harmonic[k * c.stride + entry] = value;
                              });
                              y.tangents((u[0] - along * e.x) * e.inv_r,
                                         (u[1] - along * e.y) * e.inv_r,
                                         (u[2] - along * e.z) * e.inv_r,
                                         [=](auto k, L tangent) DPTRAIN_ALWAYS_INLINE {
                                           c.harmonic[k * c.stride + second] = tangent;
                                         });
                            });
      });
}

/// dE/d(r_j - r_i) of edges from g = dE/dmoments [functions][rows] of their center and type.
template <int l_max, class Real, class Basis>
KOKKOS_FORCEINLINE_FUNCTION void edge_gradient(const Moments<Real, Basis> &m, int type,
                                               const Edge<Lanes<Real>> &e, const Real *g,
                                               Lanes<Real> (&d)[3])
{
  using L = Lanes<Real>;
  constexpr int rows = num_harmonics(l_max), tile = rows < 8 ? rows : 8;
  L function[most_functions], slope[most_functions], y[rows], h[rows];
  const auto seen = seen_distance(m, type, e);
  m.basis.evaluate(type, seen.s, seen.inv_s, [&](int k, L b, L db) DPTRAIN_ALWAYS_INLINE {
    function[k] = b;
    slope[k] = db;
  });
  const Harmonics<l_max, Real, L> harmonics(e.x, e.y, e.z);
  harmonics.values([&](auto k, L value) DPTRAIN_ALWAYS_INLINE { y[k] = value; });
  L radial = {};
  // h = dE/dY, and sums with the slopes of the functions, some rows at a time
  const auto add_rows = [&](auto first, auto number) DPTRAIN_ALWAYS_INLINE {
    constexpr int begin = decltype(first)::value, n = decltype(number)::value;
    L sum[n] = {}, slopes[n] = {};
    for (int k = 0; k < m.basis.size; ++k) {
      const L b = function[k], db = slope[k];
      const Real *row = g + k * rows + begin;
      unrolled<n>([&](auto c) DPTRAIN_ALWAYS_INLINE {
        sum[c] += b * row[c];
        slopes[c] += db * row[c];
      });
    }
    unrolled<n>([&](auto c) DPTRAIN_ALWAYS_INLINE {
      h[begin + c] = sum[c];
      radial += slopes[c] * y[begin + c];
    });
  };
  unrolled<rows / tile>([&](auto k) DPTRAIN_ALWAYS_INLINE {
    add_rows(Constant<decltype(k)::value * tile>(), Constant<tile>());
  });
  if constexpr (rows % tile > 0) add_rows(Constant<rows / tile * tile>(), Constant<rows % tile>());
  L by_unit[3];
  harmonics.gradient(h, by_unit);
  // what is along the edge does not turn it
  const L along = by_unit[0] * e.x + by_unit[1] * e.y + by_unit[2] * e.z;
  const L rest = radial * seen.slope - along * e.inv_r;
  d[0] = rest * e.x + by_unit[0] * e.inv_r;
  d[1] = rest * e.y + by_unit[1] * e.inv_r;
  d[2] = rest * e.z + by_unit[2] * e.inv_r;
}

/// f(Constant<l_max>()), up to `most`.
template <int most, int l = 0, class F> void with_l_max(int l_max, const F &f)
{
  if (l == l_max)
    f(Constant<l>());
  else if constexpr (l < most)
    with_l_max<most, l + 1>(l_max, f);
}

}  // namespace dptrain::kernels
