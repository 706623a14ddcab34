#include "kernels/descriptor.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

// d_ma += sum_c x_cm y_ca
KOKKOS_FORCEINLINE_FUNCTION void add_product(const DescriptorShape &s, const double *x,
                                             const double *y, double *d)
{
  for (int m = 0; m < s.channels; ++m) {
    const double x0 = x[m], x1 = x[s.width + m], x2 = x[2 * s.width + m], x3 = x[3 * s.width + m];
    double *dm = d + m * s.axis;
    const double *y1 = y + s.width, *y2 = y1 + s.width, *y3 = y2 + s.width;
    for (int a = 0; a < s.axis; ++a) dm[a] += x0 * y[a] + x1 * y1[a] + x2 * y2[a] + x3 * y3[a];
  }
}

// Transpose of D = T^T T_<: g_cm += sum_a gd_ma y_ca over all channels, and g_ca += sum_m gd_ma y_cm over the axis ones.
KOKKOS_FORCEINLINE_FUNCTION void add_transpose(const DescriptorShape &s, const double *gd,
                                               const double *y, double *g)
{
  for (int c = 0; c < 4; ++c) {
    const double *yc = y + c * s.width;
    double *gc = g + c * s.width;
    for (int m = 0; m < s.channels; ++m) {
      const double *gm = gd + m * s.axis;
      const double ym = yc[m];
      double sum = 0.0;
      for (int a = 0; a < s.axis; ++a) {
        sum += gm[a] * yc[a];
        gc[a] += gm[a] * ym;
      }
      gc[m] += sum;
    }
  }
}

KOKKOS_FORCEINLINE_FUNCTION void clear(double *values, long n)
{
  for (long k = 0; k < n; ++k) values[k] = 0.0;
}

}  // namespace

void descriptor_value(const DescriptorShape &s, const double *t, double *d)
{
  const long nt = 4L * s.width, nd = static_cast<long>(s.channels) * s.axis;
  Kokkos::parallel_for(
      "dptrain::descriptor_value", RangePolicy(0, s.centers), KOKKOS_LAMBDA(const int i) {
        clear(d + i * nd, nd);
        add_product(s, t + i * nt, t + i * nt, d + i * nd);
      });
}

void descriptor_jvp(const DescriptorShape &s, const double *t, const double *t_dot, double *d_dot)
{
  const long nt = 4L * s.width, nd = static_cast<long>(s.channels) * s.axis;
  Kokkos::parallel_for(
      "dptrain::descriptor_jvp", RangePolicy(0, s.centers), KOKKOS_LAMBDA(const int i) {
        clear(d_dot + i * nd, nd);
        add_product(s, t_dot + i * nt, t + i * nt, d_dot + i * nd);
        add_product(s, t + i * nt, t_dot + i * nt, d_dot + i * nd);
      });
}

void descriptor_reverse(const DescriptorShape &s, const double *t, const double *g_d, double *g_t)
{
  const long nt = 4L * s.width, nd = static_cast<long>(s.channels) * s.axis;
  Kokkos::parallel_for(
      "dptrain::descriptor_reverse", RangePolicy(0, s.centers), KOKKOS_LAMBDA(const int i) {
        clear(g_t + i * nt, nt);
        add_transpose(s, g_d + i * nd, t + i * nt, g_t + i * nt);
      });
}

void descriptor_jvp_reverse(const DescriptorShape &s, const double *t, const double *t_dot,
                            const double *g_d, const double *g_d_dot, double *g_t, double *g_t_dot)
{
  const long nt = 4L * s.width, nd = static_cast<long>(s.channels) * s.axis;
  Kokkos::parallel_for(
      "dptrain::descriptor_jvp_reverse", RangePolicy(0, s.centers), KOKKOS_LAMBDA(const int i) {
        clear(g_t + i * nt, nt);
        clear(g_t_dot + i * nt, nt);
        add_transpose(s, g_d + i * nd, t + i * nt, g_t + i * nt);
        add_transpose(s, g_d_dot + i * nd, t_dot + i * nt, g_t + i * nt);
        add_transpose(s, g_d_dot + i * nd, t + i * nt, g_t_dot + i * nt);
      });
}

}  // namespace dptrain::kernels
