#pragma once

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// The calling rank alone: every collective is the identity. Needs no MPI.
class SerialCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(double *, std::size_t) const override {}
  void all_reduce_sum(std::int64_t *, std::size_t) const override {}
  void reduce_scatter_sum(double *, const std::vector<std::size_t> &parts) const override;
  void all_gather(double *, const std::vector<std::size_t> &parts) const override;
  void all_reduce_max(double *, std::size_t) const override {}
  void all_reduce_max(std::int64_t *, std::size_t) const override {}
  void broadcast(void *, std::size_t, int) const override {}
  void all_to_all(const double *send, const std::vector<int> &send_counts, double *recv,
                  const std::vector<int> &recv_counts) const override;
  void all_to_all(const std::int64_t *send, const std::vector<int> &send_counts, std::int64_t *recv,
                  const std::vector<int> &recv_counts) const override;
  std::vector<std::int64_t> all_gather(std::int64_t value) const override { return {value}; }
};

}  // namespace dptrain
