#include "neighbor/neighbor_search.h"

#include "neighbor/cell_grid.h"

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
        if (cell[i] >= 0) kernels::atomic_add(count + cell[i], 1);
      });
}

// start[c] becomes the sum of all counts up to c, start[cells] their total.
void sum_counts(int cells, int *start)
{
  kernels::launch_scan(
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
        if (cell[i] >= 0) order[kernels::atomic_fetch_add(start + cell[i], -1) - 1] = i;
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

constexpr int centers_per_team = kernels::on_device ? kernels::device_threads : 1;

// A thread of a team for each center: its lanes look at the atoms of a run of cells together.
void find_rows(const Cells &cells, const int *centers, const int *frames, int n, int capacity,
               int *lists, const int **rows, int *row_size)
{
  launch(
      "dptrain::find_rows", kernels::one_team_each((n + centers_per_team - 1) / centers_per_team),
      KOKKOS_LAMBDA(const kernels::Team &team) {
        const auto find = [&](int k) {
          const int i = centers[k];
          const double *x = cells.x, x0 = x[3L * i], x1 = x[3L * i + 1], x2 = x[3L * i + 2];
          int *row = lists + static_cast<long>(k) * capacity;
          int found = 0;
          cells.grids[frames[k]].for_runs_near(x + 3L * i, [&](int begin, int end) {
            const int *atoms = cells.order + cells.start[begin];
            const int before = found;
            found += kernels::compress(
                team, cells.start[end] - cells.start[begin],
                [&](int l) {
                  const int j = atoms[l];
                  const double *q = x + 3L * j;
                  const double dx = q[0] - x0, dy = q[1] - x1, dz = q[2] - x2;
                  return j != i && dx * dx + dy * dy + dz * dz <= cells.rcut2;
                },
                [&](int l, int place) {
                  if (before + place < capacity) row[before + place] = atoms[l];
                });
          });
          Kokkos::single(Kokkos::PerThread(team), [&]() {
            rows[k] = row;
            row_size[k] = found;
          });
        };
        const int first = team.league_rank() * centers_per_team;
        const int size = n - first < centers_per_team ? n - first : centers_per_team;
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, size), [&](int k) { find(first + k); });
      });
}

}  // namespace

struct NeighborSearch::Grids {
  std::vector<CellGrid> host;
  kernels::Array<CellGrid> array;  // [frames]
};

NeighborSearch::NeighborSearch() : grids_(std::make_unique<Grids>()) {}
NeighborSearch::NeighborSearch(NeighborSearch &&) noexcept = default;
NeighborSearch &NeighborSearch::operator=(NeighborSearch &&) noexcept = default;
NeighborSearch::~NeighborSearch() = default;

void NeighborSearch::set(const double *host_x, const std::vector<int> &offsets, const double *x,
                         const int *type, double rcut)
{
  x_ = x;
  const int frames = static_cast<int>(offsets.size()) - 1, atoms = offsets.back();
  auto &host = grids_->host;
  host.clear();
  int cells = 0;
  for (int f = 0; f < frames; ++f) {
    host.push_back(make_cell_grid(host_x + 3L * offsets[f], offsets[f + 1] - offsets[f], rcut));
    host.back().first_cell = cells;
    cells += host.back().num_cells();
  }
  grids_->array.copy_from(host);
  offsets_.set(offsets);
  int *start = start_.resize_clear(cells + 1L);
  count_atoms(grids_->array.data(), offsets_.data(), frames, x, type, atoms, cell_.resize(atoms),
              start);
  sum_counts(cells, start);
  place_atoms(atoms, cell_.data(), start, order_.resize(atoms));
  sort_cells(cells, start, order_.data());
}

void NeighborSearch::find(const int *centers, const int *frames, int n, double rcut, int capacity,
                          Lists &lists, ChunkRows &rows, int *row_size) const
{
  const Cells cells{grids_->array.data(), start_.data(), order_.data(), x_, rcut * rcut};
  find_rows(cells, centers, frames, n, capacity,
            lists.entries.resize(static_cast<long>(n) * capacity), lists.begin.resize(n), row_size);
  rows.row = lists.begin.data();
  rows.row_size = row_size;
  rows.max_size = capacity;
  rows.mask = -1;
}

std::size_t NeighborSearch::memory_bytes() const
{
  return grids_->host.capacity() * sizeof(CellGrid) + grids_->array.memory_bytes() +
         offsets_.memory_bytes() + cell_.memory_bytes() + start_.memory_bytes() +
         order_.memory_bytes();
}

}  // namespace dptrain
