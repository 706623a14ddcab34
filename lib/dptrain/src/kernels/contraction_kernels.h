#pragma once

#include "kernels/center.h"
#include "kernels/contraction.h"
#include "kernels/edge_forces.h"
#include "kernels/edge_sums.h"

// The kernels of contraction.h, for whoever compiles them for rows of his own.

namespace dptrain::kernels {

namespace detail {

template <int W, class Real, class Rows>
void value_kernel(const Contraction<Real, Rows> &c, Real *t)
{
  using Block = EdgeBlock<Real, Rows>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::VALUE, c.edges.max_count);
  launch(
      "dptrain::contraction_value", one_team_each(c.edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const Center center = center_of(c, team.league_rank());
        const Block b = make_block<Real, Rows>(team_scratch(team, bytes), column, Block::VALUE);
        for_edges<false>(team, c, b, center.first, center.count,
                         [=](int, int, const auto &) DPTRAIN_ALWAYS_INLINE {});
        Real *ti = t + center.t;
        sum_over_edges<Rows::rows>(
            team, center.count, Width<W>{c.table.width}, ti,
            [=](int e) DPTRAIN_ALWAYS_INLINE { return load_rows<W>(c.table, b, e); },
            [](const auto &l, int m, const auto &t) DPTRAIN_ALWAYS_INLINE {
              const Real g = l.value(m);
              unrolled<Rows::rows>([&](auto k) DPTRAIN_ALWAYS_INLINE { t(k) += l.r[k] * g; });
            });
        for_padding(c, center.i, [=](long offset, Real factor) {
          const Real *row = c.table.rows + offset;
          team_for(team, c.table.width,
                   [=](int m) DPTRAIN_ALWAYS_INLINE { ti[m] += factor * row[m]; });
        });
      });
}

template <int W, class Real, class Rows>
void reverse_kernel(const Contraction<Real, Rows> &c, const Real *g_t, const ForceSums &sums)
{
  using Block = EdgeBlock<Real, Rows>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::REVERSE, c.edges.max_count);
  launch_shared(
      "dptrain::contraction_reverse", c.edges.num_centers, sums.copies, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        const Center center = center_of(c, i);
        const Block b = make_block<Real, Rows>(memory, column, Block::REVERSE);
        for_edges<true>(team, c, b, center.first, center.count,
                        [=](int, int e, const auto &v) DPTRAIN_ALWAYS_INLINE {
                          c.row.put_kept(v, [=](int k, Real number)
                                                DPTRAIN_ALWAYS_INLINE { b.kept[k][e] = number; });
                        });
        const Width<W> width{c.table.width};
        const Real *gi = g_t + center.t;
        const Real scale = c.scale;
        sum_over_channels<Block::sums, Real>(
            team, center.count, width,
            [=](int e) DPTRAIN_ALWAYS_INLINE {
              auto l = load_rows<W>(c.table, b, e);
              load_slopes(l, b, e, Real(1));
              return l;
            },
            [=](const auto &l, int m, const auto &s) DPTRAIN_ALWAYS_INLINE {
              const Real g = l.value(m);
              const Real along = sum_of<Rows::rows>(
                  [&](auto k) DPTRAIN_ALWAYS_INLINE { return l.r[k] * gi[k * width + m]; });
              // where the argument is the first number of the row, one sum serves both
              s(Constant<Block::argument_sum>()) +=
                  along * l.second(m) + (Rows::argument_is_first ? scale * gi[m] * g : Real(0));
              unrolled<Rows::rows>([&](auto k) DPTRAIN_ALWAYS_INLINE {
                if (k > 0 || !Rows::argument_is_first) s(k) += gi[k * width + m] * g;
              });
            },
            [=](int e, const auto &s) DPTRAIN_ALWAYS_INLINE {
              unrolled<Block::sums>([&](auto k) DPTRAIN_ALWAYS_INLINE { b.sum[k][e] = s(k); });
            });
        Real *const g[3] = {b.w[0], b.w[1], b.w[2]};  // the weights have served
        team_for(team, center.count, [=](int e) DPTRAIN_ALWAYS_INLINE {
          const int slot = center.first + e;
          Real edge[3];
          c.row.gradient([=](int k) DPTRAIN_ALWAYS_INLINE { return b.kept[k][e]; },
                         [=](int k) DPTRAIN_ALWAYS_INLINE { return b.sum[k][e]; }, scale,
                         c.edges.d[0][slot], c.edges.d[1][slot], c.edges.d[2][slot], edge);
          for (int a = 0; a < 3; ++a) g[a][e] = edge[a];
        });
        add_forces(team, c.edges, i, center.first, center.count, {g[0], g[1], g[2]}, sums, copy);
      });
}

template <int W, class Real, class Rows>
void jvp_kernel(const Contraction<Real, Rows> &c, const double *r, const double *strain,
                Real *t_dot)
{
  using Block = EdgeBlock<Real, Rows>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::TANGENT, c.edges.max_count);
  launch(
      "dptrain::contraction_jvp", one_team_each(c.edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const Center center = center_of(c, team.league_rank());
        const Block b = make_block<Real, Rows>(team_scratch(team, bytes), column, Block::TANGENT);
        fill_tangents(team, c, center, b, r, strain);
        sum_over_edges<Rows::rows>(
            team, center.count, Width<W>{c.table.width}, t_dot + center.t,
            [=](int e) DPTRAIN_ALWAYS_INLINE {
              auto l = load_rows<W>(c.table, b, e);
              load_slopes(l, b, e, b.arg_dot[e]);
              load_tangent(l, b, e);
              return l;
            },
            [](const auto &l, int m, const auto &t) DPTRAIN_ALWAYS_INLINE {
              const Real g = l.value(m), g_dot = l.second(m);
              unrolled<Rows::rows>(
                  [&](auto k) DPTRAIN_ALWAYS_INLINE { t(k) += l.d[k] * g + l.r[k] * g_dot; });
            });
      });
}

// Adds dS/dG and dS/dG' of one edge (b = dS/dT, c = dE/dT), spread over the six rows that it reads.
template <class Real, int rows, int W>
KOKKOS_FORCEINLINE_FUNCTION void add_row_gradient(const LoadedEdge<Real, rows, W> &l, int m,
                                                  const Real *b, const Real *c, Real *target)
{
  const Width<W> width = l.width;
  const auto product = [&](const Real(&row)[rows], const Real *t) DPTRAIN_ALWAYS_INLINE {
    return sum_of<rows>([&](auto k) DPTRAIN_ALWAYS_INLINE { return row[k] * t[k * width + m]; });
  };
  const Real x = product(l.r, b) - product(l.d, c), y = -product(l.r, c);
  add_shared(target + m, l.w0 * x + l.v0 * y);
  add_shared(target + width + m, l.w1 * x + l.v1 * y);
  add_shared(target + 2 * width + m, l.w2 * x + l.v2 * y);
  add_shared(target + 3 * width + m, l.w3 * x + l.v3 * y);
  add_shared(target + 4 * width + m, l.w4 * x + l.v4 * y);
  add_shared(target + 5 * width + m, l.w5 * x + l.v5 * y);
}

template <int W, class Real, class Rows>
void gradient_kernel(const Contraction<Real, Rows> &c, const double *r, const double *strain,
                     const Real *g_t, const Real *e_t, Real *table_gradient, const Copies &copies)
{
  using Block = EdgeBlock<Real, Rows>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::TANGENT, c.edges.max_count);
  const long stride = copies.stride;
  launch_shared(
      "dptrain::contraction_gradient", c.edges.num_centers, copies.number, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        Real *own_gradient = table_gradient + copy * stride;
        const Center center = center_of(c, i);
        const Block b = make_block<Real, Rows>(memory, column, Block::TANGENT);
        fill_tangents(team, c, center, b, r, strain);
        const Width<W> width{c.table.width};
        const Real *g = g_t + center.t, *e_adjoint = e_t + center.t;
        for (int e = 0; e < center.count; ++e) {
          auto l = load_rows<W>(c.table, b, e);
          load_slopes(l, b, e, b.arg_dot[e]);
          load_tangent(l, b, e);
          Real *target = own_gradient + b.base[e];
          team_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE {
            add_row_gradient(l, m, g, e_adjoint, target);
          });
        }
        for_padding(c, center.i, [=](long offset, Real factor) {
          Real *row = own_gradient + offset;
          team_for(team, width,
                   [=](int m) DPTRAIN_ALWAYS_INLINE { add_shared(row + m, factor * g[m]); });
        });
      });
}

}  // namespace detail

template <class Real, class Rows> void contraction_value(const Contraction<Real, Rows> &c, Real *t)
{
  with_width<Real>(c.table.width, [&](auto w) { detail::value_kernel<decltype(w)::known>(c, t); });
}

template <class Real, class Rows>
void contraction_reverse(const Contraction<Real, Rows> &c, const Real *g_t, const ForceSums &sums)
{
  with_width<Real>(c.table.width,
                   [&](auto w) { detail::reverse_kernel<decltype(w)::known>(c, g_t, sums); });
}

template <class Real, class Rows>
void contraction_jvp(const Contraction<Real, Rows> &c, const double *r, const double *strain,
                     Real *t_dot)
{
  with_width<Real>(c.table.width,
                   [&](auto w) { detail::jvp_kernel<decltype(w)::known>(c, r, strain, t_dot); });
}

template <class Real, class Rows>
void contraction_gradient(const Contraction<Real, Rows> &c, const double *r, const double *strain,
                          const Real *g_t, const Real *e_t, Real *table_gradient,
                          const Copies &copies)
{
  with_width<Real>(c.table.width, [&](auto w) {
    detail::gradient_kernel<decltype(w)::known>(c, r, strain, g_t, e_t, table_gradient, copies);
  });
}

template <class Real, class Rows>
void contraction_bins(const Contraction<Real, Rows> &c, int begin, int n, const double *r,
                      const double *strain, Real *q, Real *p)
{
  using Block = EdgeBlock<Real, Rows>;
  constexpr int per_edge = Rows::rows;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::TANGENT, c.edges.max_count);
  const long width = c.table.width, rows = c.table.net_size / width;
  launch(
      "dptrain::contraction_bins", one_team_each(n, bytes), KOKKOS_LAMBDA(const Team &team) {
        const long own = team.league_rank();
        const Center center = center_of(c, begin + team.league_rank());
        const Block b = make_block<Real, Rows>(team_scratch(team, bytes), column, Block::TANGENT);
        fill_tangents(team, c, center, b, r, strain);
        // a lane has a number of the row for itself, so nobody adds to the same place
        team_for(team, 2 * per_edge, [=](int k) {
          const int a = k % per_edge;
          const bool is_q = k < per_edge;
          Real *to = (is_q ? q : p) + (own * per_edge + a) * rows;
          for (int e = 0; e < center.count; ++e) {
            const int type = c.edges.type[center.first + e];
            const long place = b.base[e] - c.net_of(type) * c.table.net_size;
            Real *bin = to + static_cast<long>(type) * n * per_edge * rows + place / width;
            const Real row = b.row[a][e], tangent = b.tangent[a][e], slope = row * b.arg_dot[e];
            for (int l = 0; l < 6; ++l)
              bin[l] += is_q ? b.w[l][e] * row : -(b.w[l][e] * tangent + b.dw[l][e] * slope);
          }
          if (k > 0 || !c.edges.empty) return;
          for (int type = 0; type < c.edges.ntypes; ++type)
            to[static_cast<long>(type) * n * per_edge * rows + c.table.padding_offset / width +
               c.padding_row] +=
                c.scale * c.padding_arg * c.edges.empty[center.i * c.edges.ntypes + type];
        });
      });
}

template <class Real, class Rows> void edge_arguments(const Contraction<Real, Rows> &c, Real *arg)
{
  const Edges<Real> &edges = c.edges;
  const Rows &row = c.row;
  launch(
      "dptrain::edge_arguments", one_team_each(edges.num_centers), KOKKOS_LAMBDA(const Team &team) {
        const int first = edges.first[team.league_rank()];
        team_for(team, edges.count[team.league_rank()], [=](int e) DPTRAIN_ALWAYS_INLINE {
          const int slot = first + e;
          arg[slot] = row.value(edges.d[0][slot], edges.d[1][slot], edges.d[2][slot]).arg;
        });
      });
}

}  // namespace dptrain::kernels
