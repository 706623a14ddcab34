#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/statistics/statistics.h"
#include "neighbor/lattice.h"

namespace dptrain {

/// Two atoms of a frame (indices from 0; the same atom twice: with its own image) and their distance in Angstrom.
struct AtomPair {
  double distance;
  int i, j;
};

/// Neighbors of the atoms of a whole frame, one atom at a time: cells along the lattice vectors are searched with their
/// periodic images, so nothing but the sorted atoms is stored. Cells of any shape and size, also far smaller than the
/// cutoff, and no cell at all.
class FrameSearch {
 public:
  /// Atoms of type -1 are left out. Throws Error if a position is not finite, the cell has no volume or is far thinner
  /// than the cutoff.
  FrameSearch(const WholeFrame &frame, int ntypes, double rcut);

  /// Visits the neighborhoods of the atoms from begin/of to end/of of the frame, counted in cells: shares that touch
  /// each other have all atoms together. Throws Error if two atoms are at the same place.
  void for_each_atom(std::int64_t begin, std::int64_t end, std::int64_t of,
                     const std::function<void(const Neighborhood &)> &visit);
  /// The closest two atoms of those visited so far, if any has a neighbor within the cutoff.
  const std::optional<AtomPair> &closest() const { return closest_; }
  int natoms() const { return static_cast<int>(atom_.size()); }
  /// Angstrom^3; only with a cell.
  double volume() const { return lattice_.value().volume(); }

 private:
  struct Axis {
    int count = 1;  // cells
    int reach = 1;  // cells to each side that hold all neighbors
    double low = 0.0, inv_size = 1.0;
    int cell_of(double u) const;
  };
  // Atoms that may be neighbors of those in one cell, by type.
  struct Candidates {
    int size = 0;
    std::vector<double> x, y, z;  // [size or more]
    std::vector<std::array<int, 2>>
        runs;                // where copied atoms begin, here and among the sorted ones
    std::vector<int> first;  // [ntypes + 1]
    std::vector<int> self;   // [ntypes] where the atoms of the cell itself begin
  };

  void make_axes(const WholeFrame &frame, std::vector<double> &u);
  void limit_cells(std::size_t natoms, const double *extent);
  void sort(const WholeFrame &frame, const std::vector<double> &x, const std::vector<double> &u);
  void gather(const int *cell);
  void gather_row(int type, const int *cell, const int *offset);
  void copy(int begin, int end, const double *shift);
  Neighborhood around(int type, int index, int of_cell);
  void note_closest(int index, double square);

  int ntypes_;
  double rcut_;
  std::optional<Lattice> lattice_;
  std::array<double, 9> box_;
  Axis axes_[3];
  std::vector<int> start_;         // [ntypes][cells + 1] into the sorted atoms, and their number
  std::vector<double> x_, y_, z_;  // sorted by type, then cell
  std::vector<int> atom_;
  Candidates near_;
  std::vector<double> squares_, components_;  // of candidates
  std::vector<double> found_squares_, found_components_;
  std::vector<int> found_first_;
  std::optional<AtomPair> closest_;
};

}  // namespace dptrain
