#pragma once

#include "kernels/edge_block.h"
#include "kernels/kokkos_types.h"

// What the contraction kernels have in common.

namespace dptrain::kernels {

/// A team's view of its center.
struct Center {
  int i, first, count;
  long t;  // offset of its T
};

template <class Real, class Rows>
KOKKOS_FORCEINLINE_FUNCTION Center center_of(const Contraction<Real, Rows> &c, int i)
{
  return {i, c.edges.first[i], c.edges.count[i], static_cast<long>(i) * Rows::rows * c.table.width};
}

/// work(offset, factor) for the padding of the center: `offset` of a row of the table, `factor` of that row in T_0.
template <class Real, class Rows, class Work>
KOKKOS_FORCEINLINE_FUNCTION void for_padding(const Contraction<Real, Rows> &c, int i,
                                             const Work &work)
{
  const Table<Real> &table = c.table;
  if (!c.edges.empty) return;
  for (int t = 0; t < c.edges.ntypes; ++t) {
    const Real factor = c.scale * c.padding_arg * c.edges.empty[i * c.edges.ntypes + t];
    if (factor != Real(0))
      work(c.net_of(t) * table.net_size + table.padding_offset +
               static_cast<long>(c.padding_row) * table.width,
           factor);
  }
}

/// Derived quantities of all edges of a center with their tangents.
template <class Real, class Rows>
KOKKOS_FORCEINLINE_FUNCTION void fill_tangents(const Team &team, const Contraction<Real, Rows> &c,
                                               const Center &center, const EdgeBlock<Real, Rows> &b,
                                               const double *r, const double *strain)
{
  const Edges<Real> &edges = c.edges;
  const double *s = strain + 9L * edges.frame[center.i];
  Real m[9];
  for (int k = 0; k < 9; ++k) m[k] = static_cast<Real>(s[k]);
  const double zero[3] = {0.0, 0.0, 0.0};
  // without residuals every atom reads the same three zeros
  const double *all = r ? r : zero;
  const long step = r ? 3 : 0;
  const double *own = all + step * edges.centers[center.i];
  const double own0 = own[0], own1 = own[1], own2 = own[2];
  // gathered apart from the arithmetic, so that both become vector loops
  team_for(team, center.count, [=](int e) DPTRAIN_ALWAYS_INLINE {
    const double *other = all + step * edges.neighbor[center.first + e];
    b.u[0][e] = static_cast<Real>(other[0] - own0);
    b.u[1][e] = static_cast<Real>(other[1] - own1);
    b.u[2][e] = static_cast<Real>(other[2] - own2);
  });
  const Real m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3], m4 = m[4], m5 = m[5], m6 = m[6], m7 = m[7],
             m8 = m[8];
  for_edges<true>(team, c, b, center.first, center.count,
                  [=](int slot, int e, const auto &v) DPTRAIN_ALWAYS_INLINE {
                    const Real x = edges.d[0][slot], y = edges.d[1][slot], z = edges.d[2][slot];
                    const Real u[3] = {b.u[0][e] + m0 * x + m1 * y + m2 * z,
                                       b.u[1][e] + m3 * x + m4 * y + m5 * z,
                                       b.u[2][e] + m6 * x + m7 * y + m8 * z};
                    b.arg_dot[e] = c.row.put_tangent(v, c.scale, x, y, z, u,
                                                     [=](int k, Real number) DPTRAIN_ALWAYS_INLINE {
                                                       b.tangent[k][e] = number;
                                                     });
                  });
}

/// f(Width<W>()) for the usual numbers of channels, or for one that only the run knows. A device has no use for it.
template <class Real, class F> void with_width(int width, const F &f)
{
  [[maybe_unused]] constexpr int hundred = padded_width<Real>(100);
  if constexpr (!on_device) {
    if (width == 32) return f(Width<32>());
    if (width == hundred) return f(Width<hundred>());
  }
  f(Width<0>());
}

}  // namespace dptrain::kernels
