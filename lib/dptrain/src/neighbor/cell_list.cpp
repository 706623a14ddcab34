#include "neighbor/cell_list.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "dptrain/error.h"

namespace dptrain {

namespace {

/// A grid of cells over the atoms, each cell at least rcut wide, with the atoms sorted by cell.
class Cells {
 public:
  Cells(const double *x, int nall, double rcut) : x_(x)
  {
    std::array<double, 3> high;
    low_.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
    for (int i = 0; i < nall; ++i)
      for (int c = 0; c < 3; ++c) {
        const double value = x[std::size_t(i) * 3 + c];
        if (!std::isfinite(value))
          throw Error("Atom " + std::to_string(i) +
                      " of the frame has a coordinate that is not a " +
                      "finite number: the simulation or the data set is broken there");
        low_[c] = std::min(low_[c], value);
        high[c] = std::max(high[c], value);
      }
    choose_size(high, nall, rcut);
    sort_atoms(nall);
  }

  /// Calls visit(j) for each atom in the 27 cells around point p.
  template <class Visit> void for_each_near(const double *p, Visit visit) const
  {
    std::array<int, 3> begin, end;
    for (int c = 0; c < 3; ++c) {
      const int cell = cell_along(p[c], c);
      begin[c] = std::max(cell - 1, 0);
      end[c] = std::min(cell + 2, count_[c]);
    }
    for (int a = begin[0]; a < end[0]; ++a)
      for (int b = begin[1]; b < end[1]; ++b) {
        // cells along the last axis are contiguous
        const int row = (a * count_[1] + b) * count_[2];
        for (int k = start_[row + begin[2]]; k < start_[row + end[2]]; ++k) visit(order_[k]);
      }
  }

 private:
  void choose_size(const std::array<double, 3> &high, int nall, double rcut)
  {
    // few atoms in a large space: wider cells, so that the grid stays as small as the list of atoms
    const double max_cells = 4.0 * nall + 4096.0;
    for (size_ = rcut;; size_ *= 1.26) {
      double total = 1.0;
      for (int c = 0; c < 3; ++c) total *= std::floor((high[c] - low_[c]) / size_) + 1.0;
      if (total <= max_cells) break;
    }
    for (int c = 0; c < 3; ++c) count_[c] = static_cast<int>((high[c] - low_[c]) / size_) + 1;
  }

  int cell_along(double value, int c) const
  {
    return std::clamp(static_cast<int>((value - low_[c]) / size_), 0, count_[c] - 1);
  }

  void sort_atoms(int nall)
  {
    std::vector<int> cell(nall);
    start_.assign(std::size_t(count_[0]) * count_[1] * count_[2] + 1, 0);
    for (int i = 0; i < nall; ++i) {
      const double *p = x_ + std::size_t(i) * 3;
      cell[i] =
          (cell_along(p[0], 0) * count_[1] + cell_along(p[1], 1)) * count_[2] + cell_along(p[2], 2);
      ++start_[cell[i] + 1];
    }
    for (std::size_t k = 1; k < start_.size(); ++k) start_[k] += start_[k - 1];
    std::vector<int> next(start_.begin(), start_.end() - 1);
    order_.resize(nall);
    for (int i = 0; i < nall; ++i) order_[next[cell[i]]++] = i;
  }

  const double *x_;
  std::array<double, 3> low_;
  double size_ = 0.0;
  std::array<int, 3> count_{1, 1, 1};
  std::vector<int> start_, order_;
};

}  // namespace

NeighborRows build_neighbor_rows(const double *x, int nlocal, int nall, double rcut)
{
  if (!(rcut > 0.0) || !std::isfinite(rcut))
    throw Error("Neighbour list: the cutoff must be a positive number, found " +
                std::to_string(rcut));
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
      throw Error("Neighbour list: more than 2^31 pairs on one rank; use more ranks");
    rows.first.push_back(static_cast<int>(rows.neighbor.size()));
  }
  return rows;
}

}  // namespace dptrain
