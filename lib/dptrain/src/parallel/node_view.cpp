#include "parallel/node_view.h"

#include <mpi.h>

namespace dptrain {

NodeView look_at_node(const void *mpi_comm, std::vector<int> sums, std::vector<int> maxima)
{
  NodeView view;
  view.sums = std::move(sums);
  view.maxima = std::move(maxima);
  if (!mpi_comm) return view;
  MPI_Comm node;
  MPI_Comm_split_type(*static_cast<const MPI_Comm *>(mpi_comm), MPI_COMM_TYPE_SHARED, 0,
                      MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &view.rank);
  MPI_Comm_size(node, &view.size);
  const auto reduce = [&](std::vector<int> &values, MPI_Op op) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT, op, node);
  };
  reduce(view.sums, MPI_SUM);
  reduce(view.maxima, MPI_MAX);
  MPI_Comm_free(&node);
  return view;
}

}  // namespace dptrain
