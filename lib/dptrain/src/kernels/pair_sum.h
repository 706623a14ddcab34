#pragma once

#include "kernels/edges.h"

namespace dptrain::kernels {

/// Forces and virial from the derivatives g_d = dE/d(r_j - r_i) [3][num_edges]:
/// F_i += g, F_j -= g (force [nall][3]); virial[9] -= g (x) d; atom_virial [nall][9] (optional) gets the term at neighbour j.
void sum_forces(const Edges &edges, const double *const g_d[3], double *force, double *virial,
                double *atom_virial);

/// The transpose: edge tangents u [3][num_edges], u = r_j - r_i + C d from per-atom r [nall][3] (or null) and the strain
/// direction C [9], so that sum_k r_k . F_k + C : W = - sum_e g . u.
void edge_tangents(const Edges &edges, const double *r, const double *strain, double *const u[3]);

}  // namespace dptrain::kernels
