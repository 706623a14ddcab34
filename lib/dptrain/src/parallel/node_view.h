#pragma once

#include <vector>

namespace dptrain {

/// What the ranks of a node tell each other.
struct NodeView {
  int rank = 0, size = 1;         ///< of the ranks of the communicator that share the node
  std::vector<int> sums, maxima;  ///< over these ranks
};

/// Collective over the MPI_Comm that `mpi_comm` points to; null: the calling rank alone.
NodeView look_at_node(const void *mpi_comm, std::vector<int> sums, std::vector<int> maxima);

}  // namespace dptrain
