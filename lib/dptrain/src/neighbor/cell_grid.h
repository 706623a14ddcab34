#pragma once

#include "kernels/kokkos_types.h"

namespace dptrain {

/// Cells begin[c] <= index < end[c] along the three axes.
struct CellBlock {
  int begin[3], end[3];
};

/// A grid of cubic cells over the atoms of one frame, each wider than the cutoff. Cells along the last axis are
/// contiguous.
struct CellGrid {
  double low[3] = {};     ///< Angstrom
  double inv_size = 1.0;  ///< 1/Angstrom
  int count[3] = {1, 1, 1};
  int first_cell = 0;  ///< where the cells of this frame begin among those of all frames

  int num_cells() const { return count[0] * count[1] * count[2]; }
  KOKKOS_FORCEINLINE_FUNCTION int along(double value, int axis) const
  {
    const int cell = static_cast<int>((value - low[axis]) * inv_size);
    return cell < 0 ? 0 : (cell < count[axis] ? cell : count[axis] - 1);
  }
  KOKKOS_FORCEINLINE_FUNCTION int row(int a, int b) const
  {
    return first_cell + (a * count[1] + b) * count[2];
  }
  KOKKOS_FORCEINLINE_FUNCTION int cell_of(const double *p) const
  {
    return row(along(p[0], 0), along(p[1], 1)) + along(p[2], 2);
  }
  /// The cells that hold all atoms within the cutoff of point p.
  KOKKOS_FORCEINLINE_FUNCTION CellBlock cells_near(const double *p) const
  {
    CellBlock block;
    for (int c = 0; c < 3; ++c) {
      const int cell = along(p[c], c);
      block.begin[c] = cell > 0 ? cell - 1 : 0;
      block.end[c] = cell + 2 < count[c] ? cell + 2 : count[c];
    }
    return block;
  }
  /// visit(begin, end) for the runs of consecutive cells among those. Called in kernels alone: `visit` runs on the device.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_runs_near(const double *p, const Visit &visit) const
  {
    const CellBlock near = cells_near(p);
    for (int a = near.begin[0]; a < near.end[0]; ++a)
      for (int b = near.begin[1]; b < near.end[1]; ++b)
        visit(row(a, b) + near.begin[2], row(a, b) + near.end[2]);
  }
};

/// The grid over x[n][3] on the host. Few atoms in a large space get wider cells, so that there are never many more cells
/// than atoms. Throws Error if a coordinate is not finite.
CellGrid make_cell_grid(const double *x, int n, double rcut);

}  // namespace dptrain
