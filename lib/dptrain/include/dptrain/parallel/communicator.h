#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dptrain {

/// A fixed group of ranks. All functions are collective: every rank calls them in the same order with the same sizes;
/// so is the destruction.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// data[n] becomes the sum over ranks; the result has the same bits on every rank.
  virtual void all_reduce_sum(double *data, std::size_t n) const = 0;
  virtual void all_reduce_sum(std::int64_t *data, std::size_t n) const = 0;
  /// Like all_reduce_sum for data made of one part per rank: parts[size] lengths, in rank order. The calling rank gets
  /// the sums of its own part only, in place; the other parts hold nothing useful afterwards. With the same number of
  /// ranks the sums have the same bits in every run.
  virtual void reduce_scatter_sum(double *data, const std::vector<std::size_t> &parts) const = 0;
  /// Data made of one part per rank as above: every rank gets the parts of the others, in place.
  virtual void all_gather(double *data, const std::vector<std::size_t> &parts) const = 0;
  /// data[n] becomes the element-wise maximum over ranks.
  virtual void all_reduce_max(double *data, std::size_t n) const = 0;
  virtual void all_reduce_max(std::int64_t *data, std::size_t n) const = 0;
  /// Copies `bytes` bytes from `root` to all ranks.
  virtual void broadcast(void *data, std::size_t bytes, int root) const = 0;
  /// Personalized exchange: send_counts[size] elements for each rank, packed in rank order, and likewise received.
  virtual void all_to_all(const double *send, const std::vector<int> &send_counts, double *recv,
                          const std::vector<int> &recv_counts) const = 0;
  virtual void all_to_all(const std::int64_t *send, const std::vector<int> &send_counts,
                          std::int64_t *recv, const std::vector<int> &recv_counts) const = 0;
  /// One 64-bit number of each rank, in rank order, on every rank.
  virtual std::vector<std::int64_t> all_gather(std::int64_t value) const = 0;

  /// Operations of one kind so far, and the bytes that this rank gave to them for other ranks.
  struct Traffic {
    std::string operation;
    std::int64_t calls = 0, bytes = 0;
  };
  /// Of every kind; empty on one rank.
  virtual std::vector<Traffic> traffic() const { return {}; }
};

/// A rank that waits longer than this many seconds in an operation of any Communicator ends the job, with a message that
/// names the ranks that have not come. 0: never. Default: 1800.
void set_communication_timeout(double seconds);
double communication_timeout();

/// Communicator over MPI. `mpi_comm` points to an MPI_Comm, which is duplicated; nullptr means the calling rank alone
/// (this needs no MPI_Init).
std::shared_ptr<const Communicator> make_mpi_communicator(const void *mpi_comm = nullptr);

/// Threads that the calling rank may use so that the ranks of a node never run more threads than they have cores:
/// OMP_NUM_THREADS where it is set, otherwise the rank's share of the cores on which it is allowed to run. Collective
/// over the MPI_Comm; nullptr: the process is alone on the node. `groups`: as many groups of ranks like this one share the
/// node (partitions of one run), each with an MPI_Comm of its own.
int thread_share(const void *mpi_comm = nullptr, int groups = 1);

/// Number of the calling rank among those of its node: what the launcher says (MPICH, Open MPI, Slurm), else counted.
/// Collective over the MPI_Comm where the launcher says nothing.
int rank_on_node(const void *mpi_comm);

/// Runs `work` on every rank, then lets all ranks agree: if it threw on any of them, all throw dptrain::Error with the
/// message of the lowest failing rank. Work that may throw on one rank only stands in here, before the next collective.
void guarded(const Communicator &comm, const std::function<void()> &work);

}  // namespace dptrain
