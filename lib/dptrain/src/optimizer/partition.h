#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// A vector divided over the ranks into contiguous ranges, in rank order.
struct Partition {
  std::shared_ptr<const Communicator> comm;
  std::vector<std::size_t> parts;  ///< [ranks] lengths
  std::size_t begin = 0, end = 0;  ///< the own range
  std::size_t total = 0;

  Partition(std::shared_ptr<const Communicator> comm, std::vector<std::size_t> parts);
  std::size_t own() const { return end - begin; }
  /// Appends the whole vector, of which each rank gives its range. Collective.
  template <class T> void append_gathered(const T *own_range, std::vector<double> &to) const;
};

/// Ranges whose lengths differ by at most one.
std::vector<std::size_t> equal_parts(std::size_t total, int ranks);

/// Contiguous runs of whole blocks: the largest sum of costs of a rank is as small as runs allow. Returns the number of
/// blocks of each rank.
std::vector<std::size_t> runs_by_cost(const std::vector<double> &costs, int ranks);

}  // namespace dptrain
