#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dptrain/frame.h"
#include "kernels/edges.h"

namespace dptrain {

/// What decides which neighbours of an atom become edges.
struct EdgeRules {
  double rcut = 0.0;  ///< Angstrom
  int ntypes = 0;
  std::vector<int> sel;       ///< [ntypes] largest number of neighbours kept per type
  std::vector<char> dropped;  ///< [ntypes][ntypes] pairs without edge; their slots count as filled
  std::vector<char> hidden;   ///< [ntypes][ntypes] pairs without edge; their slots count as empty
  bool type_one_side = false;
  std::vector<double> padding_arg;  ///< [ntypes] argument of an empty slot by centre type
};

/// The edges of one chunk of centres of one type. Storage grows to the largest chunk and stays.
class EdgeList {
 public:
  /// Gathers the neighbours of `centers` (all of type `type`) with r < rcut. DeePMD-kit's two-stage truncation: the nearest
  /// sum(sel) of all types, of these the nearest sel[t] of each type. Edges are grouped by neighbour type; the empty slots
  /// of a type make one padding edge. Throws Error if two atoms coincide or a position is not finite.
  void gather(const Domain &domain, const EdgeRules &rules, int type, const int *centers,
              int num_centers);

  kernels::Edges view();
  /// Shortest distance met by the last gather; infinity without an edge.
  double min_distance() const { return min_distance_; }
  /// Centres so far that had more neighbours of a type than sel.
  std::int64_t overflow_count() const { return overflow_; }
  std::size_t memory_bytes() const;

 private:
  struct Neighbor {
    double r2, d[3];
    int index, type;
  };
  void collect(const Domain &domain, const EdgeRules &rules, int center);
  void truncate(const EdgeRules &rules);
  void append(const EdgeRules &rules, int type);
  void append_edge(int neighbor, int net, const double *d);
  void reserve_values();

  std::vector<Neighbor> found_;
  std::vector<int> counts_, centers_, first_, neighbor_, net_;
  std::vector<double> d_[3], row_[4], arg_, inv_r_, darg_, q_, dq_;
  double min_distance_ = 0.0;
  std::int64_t overflow_ = 0;
};

}  // namespace dptrain
