#pragma once

#include <vector>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

// Communicator::reduce_scatter_sum and all_gather for arrays in the memory of the kernels: over NCCL from where they are, else, where
// the host cannot read them, through a copy. On one rank nothing is done. Collective.

void reduce_scatter_in_kernels(const Communicator &comm, double *data,
                               const std::vector<std::size_t> &parts);
void all_gather_in_kernels(const Communicator &comm, double *data,
                           const std::vector<std::size_t> &parts);

/// A Communicator that reads and writes the memory of the kernels itself.
class KernelArrayCommunicator {
 public:
  virtual ~KernelArrayCommunicator() = default;
  virtual void reduce_scatter_in_kernels(double *data,
                                         const std::vector<std::size_t> &parts) const = 0;
  virtual void all_gather_in_kernels(double *data, const std::vector<std::size_t> &parts) const = 0;
};

}  // namespace dptrain
