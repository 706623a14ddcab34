#include "kernels/center.h"
#include "kernels/contraction.h"

namespace dptrain::kernels {
namespace {

// Adds dS/dG and dS/dG' of one edge (b = dS/dT, c = dE/dT), spread over the six rows that it reads.
template <class Real, int W>
KOKKOS_FORCEINLINE_FUNCTION void add_row_gradient(const LoadedEdge<Real, W> &l, int m,
                                                  const Real *b, const Real *c, Real *rows)
{
  const Width<W> width = l.width;
  const Real c0 = c[m], c1 = c[width + m], c2 = c[2 * width + m], c3 = c[3 * width + m];
  const Real y = -(l.r0 * c0 + l.r1 * c1 + l.r2 * c2 + l.r3 * c3);
  const Real x = l.r0 * b[m] + l.r1 * b[width + m] + l.r2 * b[2 * width + m] +
                 l.r3 * b[3 * width + m] - (l.d0 * c0 + l.d1 * c1 + l.d2 * c2 + l.d3 * c3);
  add_shared(rows + m, l.w0 * x + l.v0 * y);
  add_shared(rows + width + m, l.w1 * x + l.v1 * y);
  add_shared(rows + 2 * width + m, l.w2 * x + l.v2 * y);
  add_shared(rows + 3 * width + m, l.w3 * x + l.v3 * y);
  add_shared(rows + 4 * width + m, l.w4 * x + l.v4 * y);
  add_shared(rows + 5 * width + m, l.w5 * x + l.v5 * y);
}

template <class Real, int W>
void gradient_kernel(const Contraction<Real> &c, const double *r, const double *strain,
                     const Real *g_t, const Real *e_t, Real *table_gradient, const Copies &copies)
{
  using Block = EdgeBlock<Real>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::TANGENT, c.edges.max_count);
  const long stride = copies.stride;
  launch_shared(
      "dptrain::contraction_gradient", c.edges.num_centers, copies.number, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        Real *own_gradient = table_gradient + copy * stride;
        const Center center = center_of(c, i);
        const Block b = make_block<Real>(memory, column, Block::TANGENT);
        fill_tangents(team, c, center, b, r, strain);
        const Width<W> width{c.table.width};
        const Real *g = g_t + center.t, *e_adjoint = e_t + center.t;
        for (int e = 0; e < center.count; ++e) {
          LoadedEdge<Real, W> l;
          load_rows(l, c.table, b, e);
          load_slopes(l, b, e, b.arg_dot[e]);
          load_tangent(l, b, e);
          Real *rows = own_gradient + b.base[e];
          team_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE {
            add_row_gradient(l, m, g, e_adjoint, rows);
          });
        }
        for (int type = 0; type < c.edges.ntypes; ++type) {
          const Real factor = padding_factor(c, center.i, type);
          Real *row = own_gradient + padding_offset(c, type);
          if (factor != Real(0))
            team_for(team, width,
                     [=](int m) DPTRAIN_ALWAYS_INLINE { add_shared(row + m, factor * g[m]); });
        }
      });
}

}  // namespace

template <class Real>
void contraction_gradient(const Contraction<Real> &c, const double *r, const double *strain,
                          const Real *g_t, const Real *e_t, Real *table_gradient,
                          const Copies &copies)
{
  with_width<Real>(c.table.width, [&](auto w) {
    gradient_kernel<Real, decltype(w)::known>(c, r, strain, g_t, e_t, table_gradient, copies);
  });
}

template void contraction_gradient(const Contraction<double> &, const double *, const double *,
                                   const double *, const double *, double *, const Copies &);
template void contraction_gradient(const Contraction<float> &, const double *, const double *,
                                   const float *, const float *, float *, const Copies &);

}  // namespace dptrain::kernels
