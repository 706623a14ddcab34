#include "kernels/table.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

void table_locate(const Edges &e, const Table &table, const TableReads &reads)
{
  const double inv_h = 1.0 / table.spacing, origin = table.origin;
  const int last = table.knots - 2, knots = table.knots;
  Kokkos::parallel_for(
      "dptrain::table_locate", RangePolicy(0, e.num_edges), KOKKOS_LAMBDA(const int k) {
        const double t = (e.arg[k] - origin) * inv_h;
        int i = static_cast<int>(t);
        i = i < 0 ? 0 : (i > last ? last : i);
        const double u = t - i, u2 = u * u, u3 = u2 * u;
        reads.knot[k] = e.net[k] * knots + i;
        // value of the far knot first: B0 = 1 - B3 holds exactly
        const double b3 = u3 * (10.0 + u * (-15.0 + 6.0 * u));
        reads.weight[0][k] = 1.0 - b3;
        reads.weight[1][k] = u + u3 * (-6.0 + u * (8.0 - 3.0 * u));
        reads.weight[2][k] = 0.5 * (u2 + u3 * (-3.0 + u * (3.0 - u)));
        reads.weight[3][k] = b3;
        reads.weight[4][k] = u3 * (-4.0 + u * (7.0 - 3.0 * u));
        reads.weight[5][k] = 0.5 * u3 * (1.0 + u * (-2.0 + u));
        const double d3 = 30.0 * u2 * (1.0 + u * (-2.0 + u));
        reads.dweight[0][k] = -d3 * inv_h;
        reads.dweight[1][k] = (1.0 + u2 * (-18.0 + u * (32.0 - 15.0 * u))) * inv_h;
        reads.dweight[2][k] = (u + u2 * (-4.5 + u * (6.0 - 2.5 * u))) * inv_h;
        reads.dweight[3][k] = d3 * inv_h;
        reads.dweight[4][k] = u2 * (-12.0 + u * (28.0 - 15.0 * u)) * inv_h;
        reads.dweight[5][k] = u2 * (1.5 + u * (-4.0 + 2.5 * u)) * inv_h;
      });
}

}  // namespace dptrain::kernels
