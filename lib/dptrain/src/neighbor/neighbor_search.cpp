#include "neighbor/neighbor_search.h"

namespace dptrain {
namespace {

using kernels::launch;
using kernels::RangePolicy;

// Counts the atoms of each cell.
void count_atoms(const CellGrid *grids, const int *offsets, int num_frames, const double *x,
                 const int *type, int atoms, int *cell, int *count)
{
  launch(
      "dptrain::count_atoms", RangePolicy(0, atoms), KOKKOS_LAMBDA(int i) {
        int frame = 0, last = num_frames - 1;
        while (frame < last) {
          const int middle = (frame + last + 1) / 2;
          if (offsets[middle] <= i)
            frame = middle;
          else
            last = middle - 1;
        }
        cell[i] = type[i] < 0 ? -1 : grids[frame].cell_of(x + 3L * i);
        if (cell[i] >= 0) Kokkos::atomic_add(count + cell[i], 1);
      });
}

// start[c] becomes the sum of all counts up to c, start[cells] their total.
void sum_counts(int cells, int *start)
{
  ++kernels::counters().launches;
  Kokkos::parallel_scan(
      "dptrain::sum_counts", RangePolicy(0, cells + 1), KOKKOS_LAMBDA(int c, int &sum, bool final) {
        sum += start[c];
        if (final) start[c] = sum;
      });
}

// Puts the atoms in their cells from the end, which moves start[c] to the begin of cell c.
void place_atoms(int atoms, const int *cell, int *start, int *order)
{
  launch(
      "dptrain::place_atoms", RangePolicy(0, atoms), KOKKOS_LAMBDA(int i) {
        if (cell[i] >= 0) order[Kokkos::atomic_fetch_add(start + cell[i], -1) - 1] = i;
      });
}

// Ascending atoms in each cell, whatever thread came first. Cells are small.
void sort_cells(int cells, const int *start, int *order)
{
  launch(
      "dptrain::sort_cells", RangePolicy(0, cells), KOKKOS_LAMBDA(int c) {
        for (int k = start[c] + 1; k < start[c + 1]; ++k) {
          const int atom = order[k];
          int place = k;
          for (; place > start[c] && order[place - 1] > atom; --place)
            order[place] = order[place - 1];
          order[place] = atom;
        }
      });
}

struct Cells {
  const CellGrid *grids;
  const int *start, *order;
  const double *x;
  double rcut2;
};

void find_rows(const Cells &cells, const int *centers, const int *frames, int n, int capacity,
               int *lists, const int **rows, int *row_size)
{
  launch(
      "dptrain::find_rows", RangePolicy(0, n), KOKKOS_LAMBDA(int k) {
        const int i = centers[k];
        const double *x = cells.x, *p = x + 3L * i;
        int *row = lists + static_cast<long>(k) * capacity;
        int found = 0;
        cells.grids[frames[k]].for_runs_near(p, [&](int begin, int end) {
          for (int l = cells.start[begin]; l < cells.start[end]; ++l) {
            const int j = cells.order[l];
            const double *q = x + 3L * j;
            const double dx = q[0] - p[0], dy = q[1] - p[1], dz = q[2] - p[2];
            if (j == i || dx * dx + dy * dy + dz * dz > cells.rcut2) continue;
            if (found < capacity) row[found] = j;
            ++found;
          }
        });
        rows[k] = row;
        row_size[k] = found;
      });
}

}  // namespace

void NeighborSearch::set(const double *host_x, const std::vector<int> &offsets, const double *x,
                         const int *type, double rcut)
{
  rcut_ = rcut;
  x_ = x;
  const int frames = static_cast<int>(offsets.size()) - 1, atoms = offsets.back();
  host_grids_.clear();
  int cells = 0;
  for (int f = 0; f < frames; ++f) {
    host_grids_.push_back(
        make_cell_grid(host_x + 3L * offsets[f], offsets[f + 1] - offsets[f], rcut));
    host_grids_.back().first_cell = cells;
    cells += host_grids_.back().num_cells();
  }
  grids_.copy_from(host_grids_);
  offsets_.copy_from(offsets);
  int *start = start_.resize_clear(cells + 1L);
  count_atoms(grids_.data(), offsets_.data(), frames, x, type, atoms, cell_.resize(atoms), start);
  sum_counts(cells, start);
  place_atoms(atoms, cell_.data(), start, order_.resize(atoms));
  sort_cells(cells, start, order_.data());
}

void NeighborSearch::find(const int *centers, const int *frames, int n, int capacity,
                          ChunkRows &rows, int *row_size)
{
  const Cells cells{grids_.data(), start_.data(), order_.data(), x_, rcut_ * rcut_};
  find_rows(cells, centers, frames, n, capacity, lists_.resize(static_cast<long>(n) * capacity),
            rows_.resize(n), row_size);
  rows.row = rows_.data();
  rows.row_size = row_size;
  rows.max_size = capacity;
  rows.mask = -1;
}

std::size_t NeighborSearch::memory_bytes() const
{
  return host_grids_.capacity() * sizeof(CellGrid) + grids_.memory_bytes() +
         offsets_.memory_bytes() + cell_.memory_bytes() + start_.memory_bytes() +
         order_.memory_bytes() + lists_.memory_bytes() + rows_.memory_bytes();
}

}  // namespace dptrain
