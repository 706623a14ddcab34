#pragma once

#include "kernels/edges.h"

namespace dptrain::kernels {

/// Constants of the environment matrix of one centre type (DeePMD-kit se_e2_a).
struct EnvironmentParameters {
  double rcut, rcut_smth, protection;  ///< Angstrom
  double davg, dstd_radial, dstd_angular;
};

/// Value: row = ((s - davg) / dstd_r, q d / dstd_a), s = w/(r + p), q = w/(r + p)^2, w the switch function
/// 1 + u^3 (-6 u^2 + 15 u - 10), u = clip((r - rcut_smth) / (rcut - rcut_smth), 0, 1).
/// Fills row, arg, inv_r, darg, q, dq of all edges with a neighbour; padding edges are left as they are.
void environment_value(const Edges &edges, const EnvironmentParameters &parameters);

/// Reverse: dE/d(d) [3][num_edges] from dE/drow [4][num_edges] and dE/darg (through the embedding net) [num_edges].
void environment_reverse(const Edges &edges, const double *const g_row[4], const double *g_arg,
                         double *const g_d[3]);

/// JVP: tangents of row [4][num_edges] and arg [num_edges] along the edge tangents u [3][num_edges].
void environment_jvp(const Edges &edges, const double *const u[3], double *const row_dot[4],
                     double *arg_dot);

/// s(r) of the definition above, on the host.
double radial_switch(double r, double rcut, double rcut_smth, double protection);

}  // namespace dptrain::kernels
