#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/edges.h"

namespace dptrain {

/// Neighbor lists of the centers of one chunk, in the memory of the kernels. Lists are full and may reach beyond rcut.
struct ChunkRows {
  const double *x = nullptr;        ///< [atoms][3] Angstrom, all frames one after the other
  const int *type = nullptr;        ///< [atoms] -1: not in the model
  const int *const *row = nullptr;  ///< [num_centers] list of each center
  const int *row_size =
      nullptr;  ///< [num_centers] more than max_size: the list was cut, see GatherReport
  const int *offset = nullptr;      ///< [num_centers] first atom of the center's frame
  int max_size = 0;                 ///< largest row
  int mask = 0x1FFFFFFF;            ///< bits of a list entry that hold the index
  std::ptrdiff_t entry_stride = 1;  ///< from one entry of a list to the next; on a host always 1
};

/// Which neighbors of centers of one type become edges.
struct ChunkRules {
  double rcut;          ///< Angstrom
  int slots;            ///< sum of sel
  const int *sel;       ///< [ntypes] largest number of neighbors kept per type; null: all are kept
  const char *dropped;  ///< [ntypes] without edge; the slots count as filled
  const char *hidden;   ///< [ntypes] without edge; the slots count as empty
  bool any_excluded;    ///< some type is dropped or hidden
};

/// What a sweep learns about the neighbors, in the memory of the kernels; added to by every gather.
/// One for each worker (kernels/workers.h), a cache line of its own.
struct alignas(64) GatherReport {
  double smallest_r2;     ///< Angstrom^2; negative: the position of a center is not finite
  std::int64_t overflow;  ///< centers with more neighbors of a type than sel
  int largest_row;        ///< of the lists that were cut at max_size; 0: there were none
};

/// Fills count, neighbor, type, d and, with sel, empty of the edges. With sel DeePMD-kit's two-stage truncation: the nearest `slots` of all
/// types, of these the nearest sel[t] of each type; the order of the list is kept, so that sums do not depend on sel.
template <class Real>
void gather_edges(const ChunkRows &rows, const ChunkRules &rules, const kernels::Edges<Real> &edges,
                  GatherReport *reports, int num_reports = 1);

}  // namespace dptrain
