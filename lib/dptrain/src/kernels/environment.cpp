#include "kernels/environment.h"

#include <cmath>

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

struct Switch {
  double w, dw;
};

KOKKOS_FORCEINLINE_FUNCTION Switch switch_function(double r, double rcut, double rcut_smth)
{
  const double scale = 1.0 / (rcut - rcut_smth);
  double u = (r - rcut_smth) * scale;
  u = u < 0.0 ? 0.0 : (u > 1.0 ? 1.0 : u);
  const double u2 = u * u;
  // dw vanishes at u = 0 and u = 1, so the clip needs no branch
  return {u2 * u * (-6.0 * u2 + 15.0 * u - 10.0) + 1.0, -30.0 * u2 * (u - 1.0) * (u - 1.0) * scale};
}

}  // namespace

void environment_value(const Edges &e, const EnvironmentParameters &p)
{
  const double inv_radial = 1.0 / p.dstd_radial, inv_angular = 1.0 / p.dstd_angular;
  Kokkos::parallel_for(
      "dptrain::environment_value", RangePolicy(0, e.num_edges), KOKKOS_LAMBDA(const int k) {
        if (e.neighbor[k] < 0) return;
        const double x = e.d[0][k], y = e.d[1][k], z = e.d[2][k];
        const double r = sqrt(x * x + y * y + z * z);
        const auto [w, dw] = switch_function(r, p.rcut, p.rcut_smth);
        const double inv = 1.0 / (r + p.protection);
        const double s = w * inv, q = s * inv;
        const double ds = dw * inv - q;
        e.inv_r[k] = 1.0 / r;
        e.arg[k] = (s - p.davg) * inv_radial;
        e.darg[k] = ds * inv_radial;
        e.q[k] = q * inv_angular;
        e.dq[k] = (dw * inv * inv - 2.0 * q * inv) * inv_angular;
        e.row[0][k] = e.arg[k];
        e.row[1][k] = e.q[k] * x;
        e.row[2][k] = e.q[k] * y;
        e.row[3][k] = e.q[k] * z;
      });
}

void environment_reverse(const Edges &e, const double *const g_row[4], const double *g_arg,
                         double *const g_d[3])
{
  const double *r0 = g_row[0], *r1 = g_row[1], *r2 = g_row[2], *r3 = g_row[3];
  double *gx = g_d[0], *gy = g_d[1], *gz = g_d[2];
  Kokkos::parallel_for(
      "dptrain::environment_reverse", RangePolicy(0, e.num_edges), KOKKOS_LAMBDA(const int k) {
        const double x = e.d[0][k], y = e.d[1][k], z = e.d[2][k];
        const double along =
            e.darg[k] * (r0[k] + g_arg[k]) + e.dq[k] * (r1[k] * x + r2[k] * y + r3[k] * z);
        const double radial = along * e.inv_r[k];
        gx[k] = radial * x + e.q[k] * r1[k];
        gy[k] = radial * y + e.q[k] * r2[k];
        gz[k] = radial * z + e.q[k] * r3[k];
      });
}

void environment_jvp(const Edges &e, const double *const u[3], double *const row_dot[4],
                     double *arg_dot)
{
  const double *ux = u[0], *uy = u[1], *uz = u[2];
  double *r0 = row_dot[0], *r1 = row_dot[1], *r2 = row_dot[2], *r3 = row_dot[3];
  Kokkos::parallel_for(
      "dptrain::environment_jvp", RangePolicy(0, e.num_edges), KOKKOS_LAMBDA(const int k) {
        const double x = e.d[0][k], y = e.d[1][k], z = e.d[2][k];
        const double r_dot = (x * ux[k] + y * uy[k] + z * uz[k]) * e.inv_r[k];
        const double q_dot = e.dq[k] * r_dot;
        arg_dot[k] = e.darg[k] * r_dot;
        r0[k] = arg_dot[k];
        r1[k] = q_dot * x + e.q[k] * ux[k];
        r2[k] = q_dot * y + e.q[k] * uy[k];
        r3[k] = q_dot * z + e.q[k] * uz[k];
      });
}

double radial_switch(double r, double rcut, double rcut_smth, double protection)
{
  return switch_function(r, rcut, rcut_smth).w / (r + protection);
}

}  // namespace dptrain::kernels
