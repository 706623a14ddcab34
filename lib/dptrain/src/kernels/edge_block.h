#pragma once

#include "kernels/contraction.h"
#include "kernels/table_read.h"

namespace dptrain::kernels {

/// What is derived from the edges of one center, in the scratch memory of its team: one column per quantity, [max_count].
template <class Real, class Rows> struct EdgeBlock {
  static constexpr int rows = Rows::rows, kept_columns = Rows::kept;
  /// Sums over the channels that the reverse needs of an edge: for each number of its row, and for its argument.
  static constexpr int sums = rows + (Rows::argument_is_first ? 0 : 1);
  static constexpr int argument_sum = Rows::argument_is_first ? 0 : rows;
  /// Motions stand in columns of the tangent, where there are so many.
  static constexpr int motion_columns = rows < 3 ? 3 : 0;

  Real *row[rows];      ///< scaled row
  Real *w[6];           ///< weights of G
  Real *dw[6];          ///< weights of dG/darg
  Real *tangent[rows];  ///< scaled tangent of the row
  Real *arg_dot;        ///< tangent of the argument
  Real *u[3];           ///< motion of the neighbor against the center, until the tangent is there
  Real *kept[kept_columns];
  Real *sum[sums];  ///< sums over channels
  int *base;        ///< where the first of six rows starts in the table

  enum Columns {
    VALUE = rows + 6,
    REVERSE = rows + 12 + kept_columns + sums,
    TANGENT = 2 * rows + 13 + motion_columns
  };

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
template <class Real, class Rows>
KOKKOS_FORCEINLINE_FUNCTION EdgeBlock<Real, Rows> make_block(char *memory, std::size_t column_size,
                                                             int columns)
{
  using Block = EdgeBlock<Real, Rows>;
  detail::Columns<Real> c{reinterpret_cast<Real *>(memory), column_size};
  Block b{};
  b.base = reinterpret_cast<int *>(memory + columns * column_size * sizeof(Real));
  for (auto &column : b.row) column = c.take();
  for (auto &column : b.w) column = c.take();
  if (columns == Block::VALUE) return b;
  for (auto &column : b.dw) column = c.take();
  if (columns == Block::REVERSE) {
    for (auto &column : b.kept) column = c.take();
    for (auto &column : b.sum) column = c.take();
  } else {
    for (auto &column : b.tangent) column = c.take();
    b.arg_dot = c.take();
    for (int a = 0; a < 3; ++a)
      b.u[a] = Block::motion_columns > 0 ? c.take() : b.tangent[Block::rows - 3 + a];
  }
  return b;
}

/// Row and table position of edge `slot`, written to place e of the block.
template <class Real, class Rows, bool direct>
KOKKOS_FORCEINLINE_FUNCTION auto put_value(const Contraction<Real, Rows> &c,
                                           const EdgeBlock<Real, Rows> &b, int slot, int e,
                                           bool derivatives)
{
  const Real x = c.edges.d[0][slot], y = c.edges.d[1][slot], z = c.edges.d[2][slot];
  const auto v = c.row.value(x, y, z);
  c.row.put_row(v, c.scale, x, y, z,
                [=](int k, Real number) DPTRAIN_ALWAYS_INLINE { b.row[k][e] = number; });
  const int interval_size = rows_per_interval<Real> * c.table.width;
  if constexpr (direct) {
    b.base[e] = slot * interval_size;  // chunks are small enough for an int
    for (int k = 0; k < 6; ++k) b.w[k][e] = k == 0 ? Real(1) : Real(0);
    if (derivatives)
      for (int k = 0; k < 6; ++k) b.dw[k][e] = k == 1 ? Real(1) : Real(0);
  } else {
    const Read<Real> read = table_read(c.table, v.arg);
    b.base[e] = c.net_of(c.edges.type[slot]) * static_cast<int>(c.table.net_size) +
                read.interval * interval_size;
    for (int k = 0; k < 6; ++k) b.w[k][e] = read.w[k];
    if (derivatives)
      for (int k = 0; k < 6; ++k) b.dw[k][e] = read.dw[k];
  }
  return v;
}

/// The loop of a kernel over the edges of a center, for tables and for direct reading: body(slot, e, value) after the
/// block has row, w and (asked) dw of the edge.
template <bool derivatives, class Real, class Rows, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_edges(const Team &team, const Contraction<Real, Rows> &c,
                                           const EdgeBlock<Real, Rows> &b, int first, int count,
                                           const Body &body)
{
  if (c.table.direct)
    team_for(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE {
      body(first + e, e, put_value<Real, Rows, true>(c, b, first + e, e, derivatives));
    });
  else
    team_for(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE {
      body(first + e, e, put_value<Real, Rows, false>(c, b, first + e, e, derivatives));
    });
}

/// The six table rows that an edge reads, and its numbers, loaded before a loop over channels.
template <class Real, int rows, int W> struct LoadedEdge {
  const Real *table;
  Width<W> width;
  Real w0, w1, w2, w3, w4, w5, v0, v1, v2, v3, v4, v5, r[rows], d[rows];

  KOKKOS_FORCEINLINE_FUNCTION Real value(int m) const
  {
    const Real *p = table + m;
    return w0 * p[0] + w1 * p[width] + w2 * p[2 * width] + w3 * p[3 * width] + w4 * p[4 * width] +
           w5 * p[5 * width];
  }
  /// With the second set of weights.
  KOKKOS_FORCEINLINE_FUNCTION Real second(int m) const
  {
    const Real *p = table + m;
    return v0 * p[0] + v1 * p[width] + v2 * p[2 * width] + v3 * p[3 * width] + v4 * p[4 * width] +
           v5 * p[5 * width];
  }
};

template <int W, class Real, class Rows>
KOKKOS_FORCEINLINE_FUNCTION LoadedEdge<Real, Rows::rows, W>
load_rows(const Table<Real> &table, const EdgeBlock<Real, Rows> &b, int e)
{
  LoadedEdge<Real, Rows::rows, W> l;
  l.table = table.rows + b.base[e];
  l.width.value = table.width;
  l.w0 = b.w[0][e];
  l.w1 = b.w[1][e];
  l.w2 = b.w[2][e];
  l.w3 = b.w[3][e];
  l.w4 = b.w[4][e];
  l.w5 = b.w[5][e];
  unrolled<Rows::rows>([&](auto c) DPTRAIN_ALWAYS_INLINE { l.r[c] = b.row[c][e]; });
  return l;
}

/// The weights of the derivative, times `factor`.
template <int W, class Real, class Rows>
KOKKOS_FORCEINLINE_FUNCTION void load_slopes(LoadedEdge<Real, Rows::rows, W> &l,
                                             const EdgeBlock<Real, Rows> &b, int e, Real factor)
{
  l.v0 = factor * b.dw[0][e];
  l.v1 = factor * b.dw[1][e];
  l.v2 = factor * b.dw[2][e];
  l.v3 = factor * b.dw[3][e];
  l.v4 = factor * b.dw[4][e];
  l.v5 = factor * b.dw[5][e];
}

template <int W, class Real, class Rows>
KOKKOS_FORCEINLINE_FUNCTION void load_tangent(LoadedEdge<Real, Rows::rows, W> &l,
                                              const EdgeBlock<Real, Rows> &b, int e)
{
  unrolled<Rows::rows>([&](auto c) DPTRAIN_ALWAYS_INLINE { l.d[c] = b.tangent[c][e]; });
}

}  // namespace dptrain::kernels
