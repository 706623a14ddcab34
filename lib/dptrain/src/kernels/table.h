#pragma once

#include "kernels/edges.h"

namespace dptrain::kernels {

/// Quintic Hermite table of the embedding nets: rows [net][knot][3][width] with G, h G', h^2 G'' at knots origin + k h.
/// width is the number of channels rounded up; the extra channels are zero.
struct Table {
  double origin = 0.0, spacing = 1.0;
  int knots = 0;
  int width = 0;
  const double *rows = nullptr;
};

/// Where each edge reads the table: the first of two neighbouring knots and the weights of their six rows, for the value G
/// and for its derivative dG/darg. The transpose of the interpolation uses the same numbers.
struct TableReads {
  int *knot = nullptr;      ///< [num_edges] net * knots + interval
  double *weight[6] = {};   ///< [num_edges] each
  double *dweight[6] = {};  ///< [num_edges] each
};

/// Fills `reads` from the arguments of the edges, which must lie inside the table.
void table_locate(const Edges &edges, const Table &table, const TableReads &reads);

}  // namespace dptrain::kernels
