#pragma once

#include "kernels/edges.h"
#include "kernels/table.h"

namespace dptrain::kernels {

// T_i = scale * sum_e row_e (4) x G(arg_e) (width); arrays over centres are [num_centers][4][width].

/// Value: T.
void contraction_value(const Edges &edges, const Table &table, const TableReads &reads,
                       double scale, double *t);

/// Reverse: dE/drow [4][num_edges] and dE/darg [num_edges] (through G only) from g_t = dE/dT.
void contraction_reverse(const Edges &edges, const Table &table, const TableReads &reads,
                         double scale, const double *g_t, double *const g_row[4], double *g_arg);

/// Value and JVP in one sweep: T and its tangent along row_dot [4][num_edges], arg_dot [num_edges].
void contraction_jvp(const Edges &edges, const Table &table, const TableReads &reads, double scale,
                     const double *const row_dot[4], const double *arg_dot, double *t,
                     double *t_dot);

/// Parameter side of the reverse of (T, T_dot): adds dS/drows [net][knot][3][width] to knot_gradient, from g_t = dS/dT and
/// g_t_dot = dS/dT_dot. This is the transpose of the interpolation.
void contraction_gradient(const Edges &edges, const Table &table, const TableReads &reads,
                          double scale, const double *const row_dot[4], const double *arg_dot,
                          const double *g_t, const double *g_t_dot, double *knot_gradient);

}  // namespace dptrain::kernels
