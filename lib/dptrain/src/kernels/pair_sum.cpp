#include "kernels/pair_sum.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

// One centre after the other in fixed order: no atomics, the same bits in every run.
void sum_forces(const Edges &e, const double *const g_d[3], double *force, double *virial,
                double *atom_virial)
{
  for (int i = 0; i < e.num_centers; ++i) {
    double *fi = force + 3L * e.centers[i];
    for (int k = e.first[i]; k < e.first[i + 1]; ++k) {
      const int j = e.neighbor[k];
      if (j < 0) continue;
      double *fj = force + 3L * j;
      for (int a = 0; a < 3; ++a) {
        const double g = g_d[a][k];
        fi[a] += g;
        fj[a] -= g;
        for (int b = 0; b < 3; ++b) {
          const double w = -g * e.d[b][k];
          virial[3 * a + b] += w;
          if (atom_virial) atom_virial[9L * j + 3 * a + b] += w;
        }
      }
    }
  }
}

void edge_tangents(const Edges &e, const double *r, const double *strain, double *const u[3])
{
  double *u0 = u[0], *u1 = u[1], *u2 = u[2];
  Kokkos::parallel_for(
      "dptrain::edge_tangents", one_team_each(e.num_centers), KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        for (int k = e.first[i]; k < e.first[i + 1]; ++k) {
          const int j = e.neighbor[k];
          double t[3] = {0.0, 0.0, 0.0};
          if (j >= 0)
            for (int a = 0; a < 3; ++a) {
              for (int b = 0; b < 3; ++b) t[a] += strain[3 * a + b] * e.d[b][k];
              if (r) t[a] += r[3L * j + a] - r[3L * e.centers[i] + a];
            }
          u0[k] = t[0];
          u1[k] = t[1];
          u2[k] = t[2];
        }
      });
}

}  // namespace dptrain::kernels
