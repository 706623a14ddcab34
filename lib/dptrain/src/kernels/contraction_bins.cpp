#include "kernels/contraction_bins.h"

#include "kernels/center.h"

namespace dptrain::kernels {

template <class Real>
void contraction_bins(const Contraction<Real> &c, int begin, int n, const double *r,
                      const double *strain, Real *q, Real *p)
{
  using Block = EdgeBlock<Real>;
  const std::size_t column = Block::column_size(c.edges.max_count);
  const std::size_t bytes = Block::bytes(Block::TANGENT, c.edges.max_count);
  const long width = c.table.width, rows = c.table.net_size / width;
  launch(
      "dptrain::contraction_bins", one_team_each(n, bytes), KOKKOS_LAMBDA(const Team &team) {
        const long own = team.league_rank();
        const Center center = center_of(c, begin + team.league_rank());
        const Block b = make_block<Real>(team_scratch(team, bytes), column, Block::TANGENT);
        fill_tangents(team, c, center, b, r, strain);
        // a lane has a component of the row for itself, so nobody adds to the same place
        team_for(team, 8, [=](int k) {
          const int a = k % 4;
          Real *to = (k < 4 ? q : p) + (own * 4 + a) * rows;
          for (int e = 0; e < center.count; ++e) {
            const int net = c.edges.net[center.first + e];
            const long type = (net - c.first_net) / c.net_step;
            Real *bin = to + type * n * 4 * rows + (b.base[e] - net * c.table.net_size) / width;
            const Real row = b.row[a][e], tangent = b.tangent[a][e], slope = row * b.arg_dot[e];
            for (int l = 0; l < 6; ++l)
              bin[l] += k < 4 ? b.w[l][e] * row : -(b.w[l][e] * tangent + b.dw[l][e] * slope);
          }
          if (k > 0) return;
          for (int type = 0; type < c.edges.ntypes; ++type)
            to[type * n * 4 * rows + c.table.padding_offset / width + c.padding_row] +=
                padding_factor(c, center.i, type);
        });
      });
}

template void contraction_bins(const Contraction<double> &, int, int, const double *,
                               const double *, double *, double *);
template void contraction_bins(const Contraction<float> &, int, int, const double *, const double *,
                               float *, float *);

}  // namespace dptrain::kernels
