#include "neighbor/cell_list.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <limits>

#include "dptrain/base/error.h"
#include "neighbor/cell_grid.h"

namespace dptrain {

namespace {

/// The atoms of a frame sorted by cell.
class Cells {
 public:
  Cells(const double *x, int nall, double rcut) : grid_(make_cell_grid(x, nall, rcut))
  {
    std::vector<int> cell(nall);
    start_.assign(std::size_t(grid_.num_cells()) + 1, 0);
    for (int i = 0; i < nall; ++i) {
      cell[i] = grid_.cell_of(x + std::size_t(i) * 3);
      ++start_[cell[i] + 1];
    }
    for (std::size_t k = 1; k < start_.size(); ++k) start_[k] += start_[k - 1];
    std::vector<int> next(start_.begin(), start_.end() - 1);
    order_.resize(nall);
    for (int i = 0; i < nall; ++i) order_[next[cell[i]]++] = i;
  }

  /// Calls visit(j) for each atom in the 27 cells around point p.
  template <class Visit> void for_each_near(const double *p, Visit visit) const
  {
    const CellBlock near = grid_.cells_near(p);
    for (int a = near.begin[0]; a < near.end[0]; ++a)
      for (int b = near.begin[1]; b < near.end[1]; ++b) {
        const int row = grid_.row(a, b);
        for (int k = start_[row + near.begin[2]]; k < start_[row + near.end[2]]; ++k)
          visit(order_[k]);
      }
  }

 private:
  CellGrid grid_;
  std::vector<int> start_, order_;
};

}  // namespace

NeighborRows build_neighbor_rows(const double *x, int nlocal, int nall, double rcut)
{
  if (!(rcut > 0.0) || !std::isfinite(rcut))
    throw Error(fmt::format("Neighbor list: the cutoff must be a positive number, found {}", rcut));
  NeighborRows rows;
  rows.first.assign(1, 0);
  if (nlocal == 0) return rows;
  const Cells cells(x, nall, rcut);
  const double rcut_squared = rcut * rcut;
  rows.first.reserve(nlocal + 1);
  for (int i = 0; i < nlocal; ++i) {
    const double *p = x + std::size_t(i) * 3;
    cells.for_each_near(p, [&](int j) {
      const double *q = x + std::size_t(j) * 3;
      const double dx = q[0] - p[0], dy = q[1] - p[1], dz = q[2] - p[2];
      if (j != i && dx * dx + dy * dy + dz * dz <= rcut_squared) rows.neighbor.push_back(j);
    });
    // the same rows whatever the cells are
    std::sort(rows.neighbor.begin() + rows.first.back(), rows.neighbor.end());
    if (rows.neighbor.size() > std::size_t(std::numeric_limits<int>::max()))
      throw Error("Neighbor list: more than 2^31 pairs on one rank; use more ranks");
    rows.first.push_back(static_cast<int>(rows.neighbor.size()));
  }
  return rows;
}

}  // namespace dptrain
