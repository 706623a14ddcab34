#include "parallel/rank_board.h"

#include <unistd.h>

#include <chrono>

namespace dptrain {

const char *name_of(Operation operation)
{
  switch (operation) {
  case Operation::all_reduce:
    return "all_reduce";
  case Operation::reduce_scatter:
    return "reduce_scatter";
  case Operation::all_gather:
    return "all_gather";
  case Operation::broadcast:
    return "broadcast";
  case Operation::all_to_all:
    return "all_to_all";
  case Operation::count:
    break;
  }
  return "?";
}

std::int64_t node_milliseconds()
{
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

RankBoard::RankBoard(MPI_Comm comm)
{
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_);
  MPI_Comm_size(node_, &size_);
  MPI_Comm_rank(node_, &own_);
  void *memory = nullptr;
  MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN);
  int good = MPI_Win_allocate_shared(sizeof(RankStatus), 1, MPI_INFO_NULL, node_, &memory,
                                     &window_) == MPI_SUCCESS;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node_);
  if (good == 0) {
    window_ = MPI_WIN_NULL;  // not freed: that takes all ranks, and some may have none
    size_ = 0;
    return;
  }
  auto *status = new (memory) RankStatus;
  status->rank = rank;
  status->process = static_cast<int>(getpid());
  status->since = status->alive = node_milliseconds();
  MPI_Barrier(node_);
}

RankBoard::~RankBoard()
{
  if (abandoned_) return;
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  MPI_Comm_free(&node_);
}

RankStatus &RankBoard::of(int k)
{
  MPI_Aint size = 0;
  int unit = 0;
  void *memory = nullptr;
  MPI_Win_shared_query(window_, k, &size, &unit, &memory);
  return *static_cast<RankStatus *>(memory);
}

}  // namespace dptrain
