// The Communicator over MPI. Only files of this folder call MPI.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "base/advice.h"
#include "base/elapsed.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "parallel/rank_board.h"
#include "parallel/serial_communicator.h"
#include "parallel/watchdog.h"

namespace dptrain {

namespace {

// MPI counts are int; longer arrays go in pieces. Fixed, so that the order of summation never changes.
constexpr std::size_t max_piece = std::size_t(1) << 30;
constexpr int tag = 7;

MPI_Datatype mpi_type(const double *)
{
  return MPI_DOUBLE;
}
MPI_Datatype mpi_type(const std::int64_t *)
{
  return MPI_INT64_T;
}

// Ranks that never come, such as those of a partition without 'share yes', are noticed here: where a communicator is made
// no watchdog sees who waits.
void wait_for_all(MPI_Comm comm)
{
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  const auto start = std::chrono::steady_clock::now();
  const double limit = communication_timeout();
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    if (limit > 0.0 && seconds_since(start) > limit)
      end_job(fmt::format(
          "Some ranks have not come within the timeout of {:g} s: partitions that train "
          "one model all need a fix dptrain with 'share yes', and a run command for it",
          limit));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm)
  {
    wait_for_all(comm);
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    if (size_ == 1) return;
    board_ = std::make_unique<RankBoard>(comm_);
    std::vector<RankStatus *> ranks;
    for (int k = 0; k < board_->size(); ++k) ranks.push_back(&board_->of(k));
    if (ranks.empty()) return;  // nobody will notice a rank that hangs
    status_ = &board_->own();
    Watchdog::instance().watch(ranks, status_);
  }

  ~MpiCommunicator() override
  {
    if (board_) Watchdog::instance().forget(status_);
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) {
      if (board_) board_->abandon();  // nothing can be freed any more
      return;
    }
    board_.reset();
    MPI_Comm_free(&comm_);
  }

  MpiCommunicator(const MpiCommunicator &) = delete;
  MpiCommunicator &operator=(const MpiCommunicator &) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // The MPI standard (section on all-reduce) requires that all processes receive identical results.
  void all_reduce_sum(double *data, std::size_t n) const override { all_reduce(data, n, MPI_SUM); }
  void all_reduce_sum(std::int64_t *data, std::size_t n) const override
  {
    all_reduce(data, n, MPI_SUM);
  }
  void all_reduce_max(double *data, std::size_t n) const override { all_reduce(data, n, MPI_MAX); }
  void all_reduce_max(std::int64_t *data, std::size_t n) const override
  {
    all_reduce(data, n, MPI_MAX);
  }

  void reduce_scatter_sum(double *data, const std::vector<std::size_t> &parts) const override
  {
    const std::vector<std::size_t> first = first_of_parts(parts, "reduce_scatter_sum");
    const Call call(*this, Operation::reduce_scatter,
                    (first[size_] - parts[rank_]) * sizeof(double));
    if (size_ == 1) return;
    if (first[size_] > max_piece) return reduce_in_pieces(data, first[size_], MPI_SUM);
    // not MPI_Reduce_scatter: here the sums are taken in the order of the ranks
    const std::size_t own = parts[rank_];
    received_.resize(own * size_);
    exchange(data, {parts.begin(), parts.end()}, received_.data(),
             std::vector<int>(size_, static_cast<int>(own)));
    double *sums = data + first[rank_];
    std::copy_n(received_.data(), own, sums);
    for (int r = 1; r < size_; ++r)
      for (std::size_t k = 0; k < own; ++k) sums[k] += received_[r * own + k];
  }

  void all_gather(double *data, const std::vector<std::size_t> &parts) const override
  {
    const std::vector<std::size_t> first = first_of_parts(parts, "all_gather");
    const Call call(*this, Operation::all_gather, parts[rank_] * (size_ - 1) * sizeof(double));
    if (size_ == 1) return;
    if (first[size_] > max_piece) {
      for (int r = 0; r < size_; ++r)
        broadcast_in_pieces(data + first[r], parts[r] * sizeof(double), r);
      return;
    }
    const std::vector<int> counts(parts.begin(), parts.end());
    const std::vector<int> places(first.begin(), first.end() - 1);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts.data(), places.data(),
                   MPI_DOUBLE, comm_);
  }

  void broadcast(void *data, std::size_t bytes, int root) const override
  {
    const Call call(*this, Operation::broadcast, root == rank_ ? bytes * (size_ - 1) : 0);
    broadcast_in_pieces(data, bytes, root);
  }

  void all_to_all(const double *send, const std::vector<int> &send_counts, double *recv,
                  const std::vector<int> &recv_counts) const override
  {
    const Call call(*this, Operation::all_to_all, foreign(send_counts) * sizeof(double));
    exchange(send, send_counts, recv, recv_counts);
  }
  void all_to_all(const std::int64_t *send, const std::vector<int> &send_counts, std::int64_t *recv,
                  const std::vector<int> &recv_counts) const override
  {
    const Call call(*this, Operation::all_to_all, foreign(send_counts) * sizeof(std::int64_t));
    exchange(send, send_counts, recv, recv_counts);
  }

  std::vector<std::int64_t> all_gather(std::int64_t value) const override
  {
    const Call call(*this, Operation::all_gather, (size_ - 1) * sizeof(value));
    std::vector<std::int64_t> values(size_);
    MPI_Allgather(&value, 1, MPI_INT64_T, values.data(), 1, MPI_INT64_T, comm_);
    return values;
  }

  std::vector<Traffic> traffic() const override
  {
    std::vector<Traffic> all;
    for (std::size_t k = 0; k < traffic_.size() && size_ > 1; ++k)
      if (traffic_[k].calls > 0) {
        all.push_back(traffic_[k]);
        all.back().operation = name_of(static_cast<Operation>(k));
      }
    return all;
  }

 private:
  /// While it lives, this rank is in an operation.
  class Call {
   public:
    Call(const MpiCommunicator &comm, Operation operation, std::size_t bytes) :
        status_(*comm.status_)
    {
      Traffic &traffic = comm.traffic_[static_cast<std::size_t>(operation)];
      ++traffic.calls;
      traffic.bytes += static_cast<std::int64_t>(bytes);
      status_.since = node_milliseconds();
      status_.operation = static_cast<int>(operation);
      ++status_.number;
      status_.waits = 1;
    }
    ~Call()
    {
      status_.waits = 0;
      status_.since = node_milliseconds();
    }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

   private:
    RankStatus &status_;
  };

  // what others get of these
  std::size_t foreign(const std::vector<int> &counts) const
  {
    std::size_t sum = 0;
    for (std::size_t r = 0; r < counts.size(); ++r)
      if (r != static_cast<std::size_t>(rank_)) sum += counts[r];
    return sum;
  }

  // where the part of each rank begins; the last entry is the total
  std::vector<std::size_t> first_of_parts(const std::vector<std::size_t> &parts,
                                          const char *name) const
  {
    if (parts.size() != static_cast<std::size_t>(size_))
      throw internal_error(
          fmt::format("Communicator::{}: {} ranks need as many parts, {} were given", name, size_,
                      parts.size()));
    std::vector<std::size_t> first(parts.size() + 1, 0);
    for (std::size_t r = 0; r < parts.size(); ++r) first[r + 1] = first[r] + parts[r];
    return first;
  }

  template <class T> void all_reduce(T *data, std::size_t n, MPI_Op op) const
  {
    if (size_ == 1) return;
    // as a sum of parts that are gathered again: what the best algorithms send
    const Call call(*this, Operation::all_reduce, 2 * n * sizeof(T) * (size_ - 1) / size_);
    reduce_in_pieces(data, n, op);
  }

  template <class T> void reduce_in_pieces(T *data, std::size_t n, MPI_Op op) const
  {
    for (std::size_t done = 0; done < n; done += max_piece)
      MPI_Allreduce(MPI_IN_PLACE, data + done, static_cast<int>(std::min(max_piece, n - done)),
                    mpi_type(data), op, comm_);
  }

  void broadcast_in_pieces(void *data, std::size_t bytes, int root) const
  {
    char *begin = static_cast<char *>(data);
    for (std::size_t done = 0; done < bytes; done += max_piece)
      MPI_Bcast(begin + done, static_cast<int>(std::min(max_piece, bytes - done)), MPI_BYTE, root,
                comm_);
  }

  // Messages between pairs instead of MPI_Alltoallv: its int displacements bound the total, and most pairs of ranks
  // have nothing to say to each other.
  template <class T>
  void exchange(const T *send, const std::vector<int> &send_counts, T *recv,
                const std::vector<int> &recv_counts) const
  {
    const std::size_t size = size_;
    if (send_counts.size() != size || recv_counts.size() != size ||
        send_counts[rank_] != recv_counts[rank_])
      throw internal_error("Communicator::all_to_all: one count per rank is needed on both sides");
    std::vector<MPI_Request> requests;
    const T *own = nullptr;
    T *target = recv;
    for (int r = 0; r < size_; target += recv_counts[r++]) {
      if (r == rank_ || recv_counts[r] == 0) continue;
      requests.emplace_back();
      MPI_Irecv(target, recv_counts[r], mpi_type(recv), r, tag, comm_, &requests.back());
    }
    const T *source = send;
    for (int r = 0; r < size_; source += send_counts[r++]) {
      if (r == rank_) own = source;
      if (r == rank_ || send_counts[r] == 0) continue;
      requests.emplace_back();
      MPI_Isend(source, send_counts[r], mpi_type(send), r, tag, comm_, &requests.back());
    }
    T *own_target = recv;
    for (int r = 0; r < rank_; ++r) own_target += recv_counts[r];
    std::copy_n(own, send_counts[rank_], own_target);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<RankBoard> board_;
  RankStatus alone_;
  RankStatus *status_ = &alone_;
  mutable std::array<Traffic, static_cast<std::size_t>(Operation::count)> traffic_;
  mutable std::vector<double> received_;
};

}  // namespace

std::shared_ptr<const Communicator> make_mpi_communicator(const void *mpi_comm)
{
  if (!mpi_comm) return std::make_shared<SerialCommunicator>();
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    throw Error("A communicator was asked for before MPI_Init or after MPI_Finalize: make it "
                "between the two");
  return std::make_shared<MpiCommunicator>(*static_cast<const MPI_Comm *>(mpi_comm));
}

}  // namespace dptrain
