#pragma once

#include "kernels/contraction.h"
#include "kernels/table_read.h"

namespace dptrain::kernels {

/// What is derived from the edges of one center, in the scratch memory of its team: one column per quantity, [max_count].
template <class Real> struct EdgeBlock {
  Real *row[4];                 ///< scaled environment row
  Real *w[6];                   ///< weights of G
  Real *dw[6];                  ///< weights of dG/darg
  Real *tangent[4];             ///< scaled tangent of the row
  Real *arg_dot;                ///< tangent of the argument
  Real *q, *dq, *darg, *inv_r;  ///< of the environment, for derivatives
  Real *sum[4];                 ///< sums over channels
  int *base;                    ///< where the first of six rows starts in the table

  enum Columns { VALUE = 10, REVERSE = 24, TANGENT = 21 };

  static std::size_t column_size(int max_count)
  {
    return (static_cast<std::size_t>(max_count) + 15) / 16 * 16;
  }
  /// Scratch memory of a team that uses `columns` columns.
  static std::size_t bytes(int columns, int max_count)
  {
    return column_size(max_count) * (columns * sizeof(Real) + sizeof(int)) + 64;
  }
};

namespace detail {

template <class Real> struct Columns {
  Real *next;
  std::size_t size;
  KOKKOS_FORCEINLINE_FUNCTION Real *take()
  {
    Real *column = next;
    next += size;
    return column;
  }
};

}  // namespace detail

/// The columns, in the scratch memory of a team, that a kernel with `columns` of them uses.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION EdgeBlock<Real> make_block(char *memory, std::size_t column_size,
                                                       int columns)
{
  detail::Columns<Real> c{reinterpret_cast<Real *>(memory), column_size};
  EdgeBlock<Real> b{};
  b.base = reinterpret_cast<int *>(memory + columns * column_size * sizeof(Real));
  for (auto &column : b.row) column = c.take();
  for (auto &column : b.w) column = c.take();
  if (columns == EdgeBlock<Real>::VALUE) return b;
  for (auto &column : b.dw) column = c.take();
  if (columns == EdgeBlock<Real>::REVERSE) {
    b.q = c.take();
    b.dq = c.take();
    b.darg = c.take();
    b.inv_r = c.take();
    for (auto &column : b.sum) column = c.take();
  } else {
    for (auto &column : b.tangent) column = c.take();
    b.arg_dot = c.take();
  }
  return b;
}

/// Row and table position of edge `slot`, written to place e of the block.
template <class Real, bool direct>
KOKKOS_FORCEINLINE_FUNCTION EdgeValue<Real>
put_value(const Contraction<Real> &c, const EdgeBlock<Real> &b, int slot, int e, bool derivatives)
{
  const Real x = c.edges.d[0][slot], y = c.edges.d[1][slot], z = c.edges.d[2][slot];
  const EdgeValue<Real> v = edge_value(c.environment, x, y, z);
  b.row[0][e] = c.scale * v.arg;
  b.row[1][e] = c.scale * v.q * x;
  b.row[2][e] = c.scale * v.q * y;
  b.row[3][e] = c.scale * v.q * z;
  const int interval_size = rows_per_interval<Real> * c.table.width;
  if constexpr (direct) {
    b.base[e] = slot * interval_size;  // chunks are small enough for an int
    for (int k = 0; k < 6; ++k) b.w[k][e] = k == 0 ? Real(1) : Real(0);
    if (derivatives)
      for (int k = 0; k < 6; ++k) b.dw[k][e] = k == 1 ? Real(1) : Real(0);
  } else {
    const Read<Real> read = table_read(c.table, v.arg);
    b.base[e] =
        c.edges.net[slot] * static_cast<int>(c.table.net_size) + read.interval * interval_size;
    for (int k = 0; k < 6; ++k) b.w[k][e] = read.w[k];
    if (derivatives)
      for (int k = 0; k < 6; ++k) b.dw[k][e] = read.dw[k];
  }
  return v;
}

/// The loop of a kernel over the edges of a center, for tables and for direct reading: body(slot, e, value) after the
/// block has row, w and (asked) dw of the edge.
template <class Real, bool derivatives, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_edges(const Team &team, const Contraction<Real> &c,
                                           const EdgeBlock<Real> &b, int first, int count,
                                           const Body &body)
{
  if (c.table.direct)
    team_for(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE {
      body(first + e, e, put_value<Real, true>(c, b, first + e, e, derivatives));
    });
  else
    team_for(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE {
      body(first + e, e, put_value<Real, false>(c, b, first + e, e, derivatives));
    });
}

/// Tangent of row and argument along the edge tangent u (scaled like the row).
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void put_tangent(const Contraction<Real> &c, const EdgeBlock<Real> &b,
                                             int slot, int e, const EdgeValue<Real> &v,
                                             const Real (&u)[3])
{
  const Real x = c.edges.d[0][slot], y = c.edges.d[1][slot], z = c.edges.d[2][slot];
  const Real r_dot = (x * u[0] + y * u[1] + z * u[2]) * v.inv_r;
  const Real q_dot = v.dq * r_dot, arg_dot = v.darg * r_dot;
  b.arg_dot[e] = arg_dot;
  b.tangent[0][e] = c.scale * arg_dot;
  b.tangent[1][e] = c.scale * (q_dot * x + v.q * u[0]);
  b.tangent[2][e] = c.scale * (q_dot * y + v.q * u[1]);
  b.tangent[3][e] = c.scale * (q_dot * z + v.q * u[2]);
}

/// The six table rows that an edge reads, and its numbers, loaded before a loop over channels.
template <class Real, int W> struct LoadedEdge {
  const Real *rows;
  Width<W> width;
  Real w0, w1, w2, w3, w4, w5, v0, v1, v2, v3, v4, v5, r0, r1, r2, r3, d0, d1, d2, d3;

  KOKKOS_FORCEINLINE_FUNCTION Real value(int m) const
  {
    const Real *p = rows + m;
    return w0 * p[0] + w1 * p[width] + w2 * p[2 * width] + w3 * p[3 * width] + w4 * p[4 * width] +
           w5 * p[5 * width];
  }
  /// With the second set of weights.
  KOKKOS_FORCEINLINE_FUNCTION Real second(int m) const
  {
    const Real *p = rows + m;
    return v0 * p[0] + v1 * p[width] + v2 * p[2 * width] + v3 * p[3 * width] + v4 * p[4 * width] +
           v5 * p[5 * width];
  }
};

template <class Real, int W>
KOKKOS_FORCEINLINE_FUNCTION void load_rows(LoadedEdge<Real, W> &l, const Table<Real> &table,
                                           const EdgeBlock<Real> &b, int e)
{
  l.rows = table.rows + b.base[e];
  l.width.value = table.width;
  l.w0 = b.w[0][e];
  l.w1 = b.w[1][e];
  l.w2 = b.w[2][e];
  l.w3 = b.w[3][e];
  l.w4 = b.w[4][e];
  l.w5 = b.w[5][e];
  l.r0 = b.row[0][e];
  l.r1 = b.row[1][e];
  l.r2 = b.row[2][e];
  l.r3 = b.row[3][e];
}

/// The weights of the derivative, times `factor`.
template <class Real, int W>
KOKKOS_FORCEINLINE_FUNCTION void load_slopes(LoadedEdge<Real, W> &l, const EdgeBlock<Real> &b,
                                             int e, Real factor)
{
  l.v0 = factor * b.dw[0][e];
  l.v1 = factor * b.dw[1][e];
  l.v2 = factor * b.dw[2][e];
  l.v3 = factor * b.dw[3][e];
  l.v4 = factor * b.dw[4][e];
  l.v5 = factor * b.dw[5][e];
}

template <class Real, int W>
KOKKOS_FORCEINLINE_FUNCTION void load_tangent(LoadedEdge<Real, W> &l, const EdgeBlock<Real> &b,
                                              int e)
{
  l.d0 = b.tangent[0][e];
  l.d1 = b.tangent[1][e];
  l.d2 = b.tangent[2][e];
  l.d3 = b.tangent[3][e];
}

}  // namespace dptrain::kernels
