#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace dptrain {

/// Collective operations, for counters and messages.
enum class Operation { all_reduce, reduce_scatter, all_gather, broadcast, all_to_all, count };
const char *name_of(Operation operation);

/// What a rank is doing, where the other ranks of its node can read it. Times in milliseconds of the node's steady clock.
struct alignas(64) RankStatus {
  std::atomic<std::int64_t> number{0};  ///< of operations that it has begun
  std::atomic<std::int64_t> since{0};   ///< begin or end of the latest one
  std::atomic<std::int64_t> alive{0};   ///< the process was running; written every second at least
  std::atomic<int> operation{0};        ///< the latest one
  std::atomic<int> waits{0};            ///< 1: it has not come back from it
  std::atomic<int> speaker{0};  ///< of the first rank: 1: somebody tells of the failure already
  int rank = 0, process = 0;
};

/// The status of all ranks of a communicator that share this node, in memory that they share; empty where the node has none
/// left. Made and destroyed collectively.
class RankBoard {
 public:
  explicit RankBoard(MPI_Comm comm);
  ~RankBoard();
  RankBoard(const RankBoard &) = delete;
  RankBoard &operator=(const RankBoard &) = delete;

  int size() const { return size_; }
  RankStatus &own() { return of(own_); }
  /// The rank number k of this node.
  RankStatus &of(int k);
  /// Forgets the memory without a word to MPI, which has ended.
  void abandon() { abandoned_ = true; }

 private:
  MPI_Comm node_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  int size_ = 1, own_ = 0;
  bool abandoned_ = false;
};

/// Milliseconds of a clock that all processes of a node share.
std::int64_t node_milliseconds();

}  // namespace dptrain
