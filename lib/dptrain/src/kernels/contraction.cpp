#include "kernels/contraction.h"

#include "kernels/center.h"

namespace dptrain::kernels {
namespace {

// dE/d(r_j - r_i) of edge e into row[1..3], from the sums over channels.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void edge_gradient(const Contraction<Real> &c, const EdgeBlock<Real> &b,
                                               int slot, int e)
{
  const Real x = c.edges.d[0][slot], y = c.edges.d[1][slot], z = c.edges.d[2][slot];
  const Real b1 = c.scale * b.sum[1][e], b2 = c.scale * b.sum[2][e], b3 = c.scale * b.sum[3][e];
  const Real along = b.darg[e] * b.sum[0][e] + b.dq[e] * (b1 * x + b2 * y + b3 * z);
  const Real radial = along * b.inv_r[e], q = b.q[e];
  b.row[1][e] = radial * x + q * b1;
  b.row[2][e] = radial * y + q * b2;
  b.row[3][e] = radial * z + q * b3;
}

// Adds the edge gradients (row[1..3] of the block) of one center to forces and virials.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void scatter(const Team &team, const Contraction<Real> &c,
                                         const Center &center, const EdgeBlock<Real> &b,
                                         const ForceSums &sums, int copy)
{
  const Edges<Real> &edges = c.edges;
  double *force = sums.force + 3L * sums.atoms * copy;
  double *atom_virial = sums.atom_virial ? sums.atom_virial + 9L * sums.atoms * copy : nullptr;
  double *own = force + 3L * edges.centers[center.i];
  double *virial =
      sums.virial + 9L * (static_cast<long>(sums.frames) * copy + edges.frame[center.i]);
  // twelve sums over the edges of the center: three for the force, nine for the virial
#if DPTRAIN_DEVICE_PASS
  Sums<double, 12> total;
  Kokkos::parallel_reduce(
      Kokkos::TeamVectorRange(team, center.count),
      [&](int e, Sums<double, 12> &part) {
        for (int a = 0; a < 3; ++a) {
          const Real g = b.row[1 + a][e];
          part.s[9 + a] += g;
          for (int k = 0; k < 3; ++k) part.s[3 * a + k] += g * edges.d[k][center.first + e];
        }
      },
      total);
  Kokkos::single(Kokkos::PerTeam(team), [&]() {
    for (int a = 0; a < 3; ++a) add_shared(own + a, total.s[9 + a]);
    for (int k = 0; k < 9; ++k) add_shared(virial + k, -total.s[k]);
  });
#else
  (void) team;
  const auto total = [&](int a, int k) {
    const Real *g = b.row[1 + a], *d = k < 3 ? edges.d[k] + center.first : nullptr;
    Real part = 0;
    if (d) {
      _Pragma("omp simd reduction(+ : part)") for (int e = 0; e < center.count; ++e) part +=
          g[e] * d[e];
    } else {
      _Pragma("omp simd reduction(+ : part)") for (int e = 0; e < center.count; ++e) part += g[e];
    }
    return static_cast<double>(part);
  };
  for (int a = 0; a < 3; ++a) {
    const double on_center = total(a, 3);
    double w[3];
    for (int k = 0; k < 3; ++k) w[k] = total(a, k);
    add_shared(own + a, on_center);
    for (int k = 0; k < 3; ++k) add_shared(virial + 3 * a + k, -w[k]);
  }
#endif
  const auto to_neighbor = [=](int e) {
    const int slot = center.first + e;
    const long j = edges.neighbor[slot];
    for (int a = 0; a < 3; ++a) {
      add_shared(force + 3 * j + a, -b.row[1 + a][e]);
      if (atom_virial)
        for (int k = 0; k < 3; ++k)
          add_shared(atom_virial + 9 * j + 3 * a + k, -b.row[1 + a][e] * edges.d[k][slot]);
    }
  };
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, center.count), to_neighbor);
#else
  for (int e = 0; e < center.count; ++e) to_neighbor(e);
#endif
}

template <class Real, int W> void value_kernel(const Contraction<Real> &c, Real *t)
{
  using Block = EdgeBlock<Real>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::VALUE, c.edges.max_count);
  launch(
      "dptrain::contraction_value", one_team_each(c.edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const Center center = center_of(c, team.league_rank());
        const Block b = make_block<Real>(team_scratch(team, bytes), column, Block::VALUE);
        for_edges<Real, false>(team, c, b, center.first, center.count,
                               [=](int, int, const EdgeValue<Real> &) DPTRAIN_ALWAYS_INLINE {});
        Real *ti = t + center.t;
        sum_over_edges(
            team, center.count, Width<W>{c.table.width}, ti,
            [=](int e) DPTRAIN_ALWAYS_INLINE {
              LoadedEdge<Real, W> l;
              load_rows(l, c.table, b, e);
              return l;
            },
            [](const LoadedEdge<Real, W> &l, int m, Real &t0, Real &t1, Real &t2, Real &t3)
                DPTRAIN_ALWAYS_INLINE {
                  const Real g = l.value(m);
                  t0 += l.r0 * g;
                  t1 += l.r1 * g;
                  t2 += l.r2 * g;
                  t3 += l.r3 * g;
                });
        for (int type = 0; type < c.edges.ntypes; ++type) {
          const Real factor = padding_factor(c, center.i, type);
          const Real *row = c.table.rows + padding_offset(c, type);
          if (factor != Real(0))
            team_for(team, c.table.width,
                     [=](int m) DPTRAIN_ALWAYS_INLINE { ti[m] += factor * row[m]; });
        }
      });
}

template <class Real, int W>
void reverse_kernel(const Contraction<Real> &c, const Real *g_t, const ForceSums &sums)
{
  using Block = EdgeBlock<Real>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::REVERSE, c.edges.max_count);
  launch_shared(
      "dptrain::contraction_reverse", c.edges.num_centers, sums.copies, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        const Center center = center_of(c, i);
        const Block b = make_block<Real>(memory, column, Block::REVERSE);
        for_edges<Real, true>(team, c, b, center.first, center.count,
                              [=](int, int e, const EdgeValue<Real> &v) DPTRAIN_ALWAYS_INLINE {
                                b.q[e] = v.q;
                                b.dq[e] = v.dq;
                                b.darg[e] = v.darg;
                                b.inv_r[e] = v.inv_r;
                              });
        const Width<W> width{c.table.width};
        const Real *g0 = g_t + center.t, *g1 = g0 + width, *g2 = g1 + width, *g3 = g2 + width;
        // the argument of the net is the first element of the row: one sum for both ways
        const Real scale = c.scale;
        sum_over_channels<Real>(
            team, center.count, width,
            [=](int e) DPTRAIN_ALWAYS_INLINE {
              LoadedEdge<Real, W> l;
              load_rows(l, c.table, b, e);
              load_slopes(l, b, e, Real(1));
              return l;
            },
            [=](const LoadedEdge<Real, W> &l, int m, Real &s0, Real &s1, Real &s2, Real &s3)
                DPTRAIN_ALWAYS_INLINE {
                  const Real g = l.value(m);
                  s0 += (l.r0 * g0[m] + l.r1 * g1[m] + l.r2 * g2[m] + l.r3 * g3[m]) * l.second(m) +
                        scale * g0[m] * g;
                  s1 += g1[m] * g;
                  s2 += g2[m] * g;
                  s3 += g3[m] * g;
                },
            [=](int e, Real s0, Real s1, Real s2, Real s3) DPTRAIN_ALWAYS_INLINE {
              b.sum[0][e] = s0;
              b.sum[1][e] = s1;
              b.sum[2][e] = s2;
              b.sum[3][e] = s3;
            });
        team_for(team, center.count,
                 [=](int e) DPTRAIN_ALWAYS_INLINE { edge_gradient(c, b, center.first + e, e); });
        scatter(team, c, center, b, sums, copy);
      });
}

template <class Real, int W>
void jvp_kernel(const Contraction<Real> &c, const double *r, const double *strain, Real *t_dot)
{
  using Block = EdgeBlock<Real>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::TANGENT, c.edges.max_count);
  launch(
      "dptrain::contraction_jvp", one_team_each(c.edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const Center center = center_of(c, team.league_rank());
        const Block b = make_block<Real>(team_scratch(team, bytes), column, Block::TANGENT);
        fill_tangents(team, c, center, b, r, strain);
        sum_over_edges(
            team, center.count, Width<W>{c.table.width}, t_dot + center.t,
            [=](int e) DPTRAIN_ALWAYS_INLINE {
              LoadedEdge<Real, W> l;
              load_rows(l, c.table, b, e);
              load_slopes(l, b, e, b.arg_dot[e]);
              load_tangent(l, b, e);
              return l;
            },
            [](const LoadedEdge<Real, W> &l, int m, Real &t0, Real &t1, Real &t2, Real &t3)
                DPTRAIN_ALWAYS_INLINE {
                  const Real g = l.value(m), g_dot = l.second(m);
                  t0 += l.d0 * g + l.r0 * g_dot;
                  t1 += l.d1 * g + l.r1 * g_dot;
                  t2 += l.d2 * g + l.r2 * g_dot;
                  t3 += l.d3 * g + l.r3 * g_dot;
                });
      });
}

}  // namespace

template <class Real> void contraction_value(const Contraction<Real> &c, Real *t)
{
  with_width<Real>(c.table.width, [&](auto w) { value_kernel<Real, decltype(w)::known>(c, t); });
}

template <class Real>
void contraction_reverse(const Contraction<Real> &c, const Real *g_t, const ForceSums &sums)
{
  with_width<Real>(c.table.width,
                   [&](auto w) { reverse_kernel<Real, decltype(w)::known>(c, g_t, sums); });
}

template <class Real>
void contraction_jvp(const Contraction<Real> &c, const double *r, const double *strain, Real *t_dot)
{
  with_width<Real>(c.table.width,
                   [&](auto w) { jvp_kernel<Real, decltype(w)::known>(c, r, strain, t_dot); });
}

template <class Real> void edge_arguments(const Contraction<Real> &c, Real *arg)
{
  const Edges<Real> &edges = c.edges;
  const Environment<Real> &environment = c.environment;
  launch(
      "dptrain::edge_arguments", one_team_each(edges.num_centers), KOKKOS_LAMBDA(const Team &team) {
        const int first = edges.first[team.league_rank()];
        team_for(team, edges.count[team.league_rank()], [=](int e) DPTRAIN_ALWAYS_INLINE {
          const int slot = first + e;
          arg[slot] =
              edge_value(environment, edges.d[0][slot], edges.d[1][slot], edges.d[2][slot]).arg;
        });
      });
}

#define DPTRAIN_INSTANTIATE(Real)                                                                \
  template void contraction_value(const Contraction<Real> &, Real *);                            \
  template void contraction_reverse(const Contraction<Real> &, const Real *, const ForceSums &); \
  template void contraction_jvp(const Contraction<Real> &, const double *, const double *,       \
                                Real *);                                                         \
  template void edge_arguments(const Contraction<Real> &, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
