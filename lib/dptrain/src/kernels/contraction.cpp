#include "kernels/contraction.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

// Weights of one edge in registers.
struct Weights {
  double w[6];
};

KOKKOS_FORCEINLINE_FUNCTION Weights weights(double *const column[6], int e)
{
  return {{column[0][e], column[1][e], column[2][e], column[3][e], column[4][e], column[5][e]}};
}

// Two neighbouring knots are six consecutive rows of the table.
KOKKOS_FORCEINLINE_FUNCTION double interpolate(const Weights &b, const double *rows, int width,
                                               int m)
{
  return b.w[0] * rows[m] + b.w[1] * rows[width + m] + b.w[2] * rows[2 * width + m] +
         b.w[3] * rows[3 * width + m] + b.w[4] * rows[4 * width + m] + b.w[5] * rows[5 * width + m];
}

}  // namespace

void contraction_value(const Edges &e, const Table &table, const TableReads &reads, double scale,
                       double *t)
{
  const int width = table.width;
  Kokkos::parallel_for(
      "dptrain::contraction_value", one_team_each(e.num_centers), KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        double *ti = t + static_cast<long>(i) * 4 * width;
        vector_for(team, 4 * width, [=](int m) DPTRAIN_ALWAYS_INLINE { ti[m] = 0.0; });
        for (int k = e.first[i]; k < e.first[i + 1]; ++k) {
          const double *rows = table.rows + static_cast<long>(reads.knot[k]) * 3 * width;
          const Weights b = weights(reads.weight, k);
          const double r0 = scale * e.row[0][k], r1 = scale * e.row[1][k];
          const double r2 = scale * e.row[2][k], r3 = scale * e.row[3][k];
          vector_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE {
            const double g = interpolate(b, rows, width, m);
            ti[m] += r0 * g;
            ti[width + m] += r1 * g;
            ti[2 * width + m] += r2 * g;
            ti[3 * width + m] += r3 * g;
          });
        }
      });
}

void contraction_reverse(const Edges &e, const Table &table, const TableReads &reads, double scale,
                         const double *g_t, double *const g_row[4], double *g_arg)
{
  const int width = table.width;
  double *out0 = g_row[0], *out1 = g_row[1], *out2 = g_row[2], *out3 = g_row[3];
  Kokkos::parallel_for(
      "dptrain::contraction_reverse", one_team_each(e.num_centers),
      KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        const double *b0 = g_t + static_cast<long>(i) * 4 * width;
        const double *b1 = b0 + width, *b2 = b1 + width, *b3 = b2 + width;
        for (int k = e.first[i]; k < e.first[i + 1]; ++k) {
          const double *rows = table.rows + static_cast<long>(reads.knot[k]) * 3 * width;
          const Weights b = weights(reads.weight, k), db = weights(reads.dweight, k);
          const double r0 = e.row[0][k], r1 = e.row[1][k], r2 = e.row[2][k], r3 = e.row[3][k];
          double sum[5];
          vector_sum(
              width,
              [=](int m, double &s, double &s0, double &s1, double &s2, double &s3)
                  DPTRAIN_ALWAYS_INLINE {
                    const double g = interpolate(b, rows, width, m);
                    const double dg = interpolate(db, rows, width, m);
                    s += (r0 * b0[m] + r1 * b1[m] + r2 * b2[m] + r3 * b3[m]) * dg;
                    s0 += b0[m] * g;
                    s1 += b1[m] * g;
                    s2 += b2[m] * g;
                    s3 += b3[m] * g;
                  },
              sum);
          g_arg[k] = scale * sum[0];
          out0[k] = scale * sum[1];
          out1[k] = scale * sum[2];
          out2[k] = scale * sum[3];
          out3[k] = scale * sum[4];
        }
      });
}

void contraction_jvp(const Edges &e, const Table &table, const TableReads &reads, double scale,
                     const double *const row_dot[4], const double *arg_dot, double *t,
                     double *t_dot)
{
  const int width = table.width;
  const double *v0 = row_dot[0], *v1 = row_dot[1], *v2 = row_dot[2], *v3 = row_dot[3];
  Kokkos::parallel_for(
      "dptrain::contraction_jvp", one_team_each(e.num_centers), KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        double *ti = t + static_cast<long>(i) * 4 * width;
        double *di = t_dot + static_cast<long>(i) * 4 * width;
        vector_for(team, 4 * width, [=](int m) DPTRAIN_ALWAYS_INLINE { ti[m] = di[m] = 0.0; });
        for (int k = e.first[i]; k < e.first[i + 1]; ++k) {
          const double *rows = table.rows + static_cast<long>(reads.knot[k]) * 3 * width;
          const Weights b = weights(reads.weight, k), db = weights(reads.dweight, k);
          const double r0 = scale * e.row[0][k], r1 = scale * e.row[1][k];
          const double r2 = scale * e.row[2][k], r3 = scale * e.row[3][k];
          const double d0 = scale * v0[k], d1 = scale * v1[k], d2 = scale * v2[k],
                       d3 = scale * v3[k], a = arg_dot[k];
          vector_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE {
            const double g = interpolate(b, rows, width, m);
            const double g_dot = a * interpolate(db, rows, width, m);
            ti[m] += r0 * g;
            ti[width + m] += r1 * g;
            ti[2 * width + m] += r2 * g;
            ti[3 * width + m] += r3 * g;
            di[m] += r0 * g_dot + d0 * g;
            di[width + m] += r1 * g_dot + d1 * g;
            di[2 * width + m] += r2 * g_dot + d2 * g;
            di[3 * width + m] += r3 * g_dot + d3 * g;
          });
        }
      });
}

void contraction_gradient(const Edges &e, const Table &table, const TableReads &reads, double scale,
                          const double *const row_dot[4], const double *arg_dot, const double *g_t,
                          const double *g_t_dot, double *knot_gradient)
{
  const int width = table.width;
  const double *v0 = row_dot[0], *v1 = row_dot[1], *v2 = row_dot[2], *v3 = row_dot[3];
  Kokkos::parallel_for(
      "dptrain::contraction_gradient", one_team_each(e.num_centers),
      KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        const double *b = g_t + static_cast<long>(i) * 4 * width;
        const double *c = g_t_dot + static_cast<long>(i) * 4 * width;
        for (int k = e.first[i]; k < e.first[i + 1]; ++k) {
          double *rows = knot_gradient + static_cast<long>(reads.knot[k]) * 3 * width;
          const Weights w = weights(reads.weight, k), dw = weights(reads.dweight, k);
          const double r0 = scale * e.row[0][k], r1 = scale * e.row[1][k];
          const double r2 = scale * e.row[2][k], r3 = scale * e.row[3][k];
          const double d0 = scale * v0[k], d1 = scale * v1[k], d2 = scale * v2[k],
                       d3 = scale * v3[k], a = arg_dot[k];
          vector_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE {
            const double c0 = c[m], c1 = c[width + m], c2 = c[2 * width + m], c3 = c[3 * width + m];
            const double row_c = r0 * c0 + r1 * c1 + r2 * c2 + r3 * c3;
            // dS/dG and dS/dG' of this edge
            const double x = r0 * b[m] + r1 * b[width + m] + r2 * b[2 * width + m] +
                             r3 * b[3 * width + m] + d0 * c0 + d1 * c1 + d2 * c2 + d3 * c3;
            const double y = a * row_c;
            for (int l = 0; l < 6; ++l) rows[l * width + m] += w.w[l] * x + dw.w[l] * y;
          });
        }
      });
}

}  // namespace dptrain::kernels
