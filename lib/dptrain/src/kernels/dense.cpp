#include "kernels/dense.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

void dense_value(const DenseShape &s, const double *z, const double *const f[4], const double *idt,
                 const double *x, double *y)
{
  const double *f0 = f[0], *f1 = f[1], *f2 = f[2];
  const long block = static_cast<long>(s.n) * s.out, x_block = static_cast<long>(s.n) * s.in;
  launch(
      "dptrain::dense_value", one_team_each(s.n), KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        const long row = static_cast<long>(i) * s.out, x_row = static_cast<long>(i) * s.in;
        team_for(team, s.out, [=](int m) DPTRAIN_ALWAYS_INLINE {
          const double scale = idt ? idt[m] : 1.0;
          const long k = row + m;
          y[k] = scale * f0[k];
          if (s.order > 0) y[block + k] = scale * f1[k] * z[block + k];
          if (s.order > 1)
            y[2 * block + k] =
                scale * (f1[k] * z[2 * block + k] + f2[k] * z[block + k] * z[block + k]);
        });
        for (int o = 0; o <= s.order; ++o)
          for (int copy = 0; copy < s.skip; ++copy) {
            double *target = y + o * block + row + copy * s.in;
            const double *source = x + o * x_block + x_row;
            team_for(team, s.in, [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] += source[m]; });
          }
      });
}

namespace {

// One element: g_t -> g_z for the jet t(z).
KOKKOS_FORCEINLINE_FUNCTION void reverse_element(const DenseShape &s, long k, long block,
                                                 const double *z, const double *f1,
                                                 const double *f2, const double *f3, double scale,
                                                 const double *g_y, double *g_z)
{
  double g0 = f1[k] * scale * g_y[k];
  if (s.order > 0) {
    const double z1 = z[block + k], g_t1 = scale * g_y[block + k];
    double g1 = f1[k] * g_t1;
    g0 += f2[k] * z1 * g_t1;
    if (s.order > 1) {
      const double g_t2 = scale * g_y[2 * block + k];
      g1 += 2.0 * f2[k] * z1 * g_t2;
      g0 += (f2[k] * z[2 * block + k] + f3[k] * z1 * z1) * g_t2;
      g_z[2 * block + k] = f1[k] * g_t2;
    }
    g_z[block + k] = g1;
  }
  g_z[k] = g0;
}

KOKKOS_FORCEINLINE_FUNCTION double idt_term(const DenseShape &s, long k, long block,
                                            const double *z, const double *f0, const double *f1,
                                            const double *f2, const double *g_y)
{
  double sum = g_y[k] * f0[k];
  if (s.order > 0) sum += g_y[block + k] * f1[k] * z[block + k];
  if (s.order > 1)
    sum += g_y[2 * block + k] * (f1[k] * z[2 * block + k] + f2[k] * z[block + k] * z[block + k]);
  return sum;
}

}  // namespace

void dense_reverse(const DenseShape &s, const double *z, const double *const f[4],
                   const double *idt, const double *g_y, double *g_z, double *g_x,
                   double *idt_terms)
{
  const double *f0 = f[0], *f1 = f[1], *f2 = f[2], *f3 = f[3];
  const long block = static_cast<long>(s.n) * s.out, x_block = static_cast<long>(s.n) * s.in;
  launch(
      "dptrain::dense_reverse", one_team_each(s.n), KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        const long row = static_cast<long>(i) * s.out, x_row = static_cast<long>(i) * s.in;
        team_for(team, s.out, [=](int m) DPTRAIN_ALWAYS_INLINE {
          const double scale = idt ? idt[m] : 1.0;
          reverse_element(s, row + m, block, z, f1, f2, f3, scale, g_y, g_z);
          if (idt_terms) idt_terms[row + m] = idt_term(s, row + m, block, z, f0, f1, f2, g_y);
        });
        const int in = s.in, skip = s.skip;
        for (int o = 0; o <= s.order; ++o) {
          double *target = g_x + o * x_block + x_row;
          const double *source = g_y + o * block + row;
          team_for(team, in, [=](int m) DPTRAIN_ALWAYS_INLINE {
            target[m] = skip == 0 ? 0.0 : (skip == 1 ? source[m] : source[m] + source[in + m]);
          });
        }
      });
}

template <class Real> void add_column_sums(const Real *values, int rows, int columns, double *sums)
{
  constexpr int block = on_device ? 32 : 64;  // columns of one team
  const int blocks = (columns + block - 1) / block;
  const int row_blocks = rows > rows_per_team ? (rows + rows_per_team - 1) / rows_per_team : 1;
  launch(
      "dptrain::add_column_sums", one_team_each(blocks * row_blocks),
      KOKKOS_LAMBDA(const Team &team) {
        const int begin = team.league_rank() % blocks * block;
        const int size = columns - begin < block ? columns - begin : block;
        const int first = team.league_rank() / blocks * rows_per_team;
        add_rows(
            team, rows - first < rows_per_team ? rows - first : rows_per_team, size, sums + begin,
            [=](int i) DPTRAIN_ALWAYS_INLINE {
              return values + static_cast<long>(first + i) * columns + begin;
            },
            [](const Real *row, int m)
                DPTRAIN_ALWAYS_INLINE { return static_cast<double>(row[m]); });
      });
}

template void add_column_sums(const double *, int, int, double *);
template void add_column_sums(const float *, int, int, double *);

}  // namespace dptrain::kernels
