#include "parallel/node_memory.h"

#include <algorithm>
#include <filesystem>

namespace dptrain {
namespace {

// MPI libraries take shared memory from this file system, and a process that writes where it is full is killed.
bool has_room(std::size_t bytes)
{
  std::error_code none;
  const auto space = std::filesystem::space("/dev/shm", none);
  return none || space.available / 4 >= bytes;
}

}  // namespace

NodeMemory::NodeMemory(MPI_Comm comm)
{
  int size = 1, on_node = 1;
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &comm_);
  MPI_Comm_size(comm_, &on_node);
  int alone = size > 1 && on_node == size ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &alone, 1, MPI_INT, MPI_MIN, comm);
  if (alone == 1) {
    memory_.resize(size);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);  // messages take over
  } else {
    MPI_Comm_free(&comm_);
  }
}

NodeMemory::~NodeMemory()
{
  if (memory_.empty()) return;
  release();
  MPI_Comm_free(&comm_);
}

void NodeMemory::release()
{
  if (window_ == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
  capacity_ = 0;
}

bool NodeMemory::reserve(std::size_t doubles)
{
  if (memory_.empty() || doubles >= refused_) return false;
  if (doubles <= capacity_) return true;
  release();
  const std::size_t bytes = doubles * sizeof(double);
  int good = has_room(bytes * memory_.size()) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm_);
  void *own = nullptr;
  if (good == 1 && MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), sizeof(double),
                                           MPI_INFO_NULL, comm_, &own, &window_) != MPI_SUCCESS)
    good = 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm_);
  if (good == 0) {
    window_ = MPI_WIN_NULL;  // not freed: that takes all ranks, and some may have none
    refused_ = doubles;
    return false;
  }
  for (std::size_t r = 0; r < memory_.size(); ++r) {
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, static_cast<int>(r), &size, &unit, &memory_[r]);
  }
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  capacity_ = doubles;
  return true;
}

// Everything written before is seen by everyone after.
void NodeMemory::synchronize() const
{
  MPI_Win_sync(window_);
  MPI_Barrier(comm_);
  MPI_Win_sync(window_);
}

bool NodeMemory::reduce_scatter_sum(double *data, const std::vector<std::size_t> &first)
{
  if (!reserve(first.back())) return false;
  const std::size_t begin = first[rank_], end = first[rank_ + 1];
  std::copy(data, data + begin, memory_[rank_]);
  std::copy(data + end, data + first.back(), memory_[rank_] + end);
  synchronize();
  // always in the order of the ranks, in blocks that stay in the cache
  constexpr std::size_t block = 1024;
  double sums[block];
  for (std::size_t k = begin; k < end; k += block) {
    const std::size_t n = std::min(block, end - k);
    for (std::size_t r = 0; r < memory_.size(); ++r) {
      const double *from = (r == static_cast<std::size_t>(rank_) ? data : memory_[r]) + k;
      if (r == 0)
        std::copy_n(from, n, sums);
      else
        for (std::size_t i = 0; i < n; ++i) sums[i] += from[i];
    }
    std::copy_n(sums, n, data + k);
  }
  synchronize();
  return true;
}

bool NodeMemory::all_gather(double *data, const std::vector<std::size_t> &first)
{
  if (!reserve(first.back())) return false;
  const auto copy_part = [&](int r, const double *from, double *to) {
    std::copy(from + first[r], from + first[r + 1], to + first[r]);
  };
  copy_part(rank_, data, memory_[rank_]);
  synchronize();
  for (int r = 0; r < static_cast<int>(memory_.size()); ++r)
    if (r != rank_) copy_part(r, memory_[r], data);
  synchronize();
  return true;
}

}  // namespace dptrain
