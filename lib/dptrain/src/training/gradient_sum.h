#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "kernels/memory.h"

namespace dptrain {

/// Sums the gradient over the ranks, in one of several ways that differ in what travels. Functions are collective.
class GradientSum {
 public:
  virtual ~GradientSum() = default;
  /// gradient[number of parameters]: this rank's share becomes the sum, or an approximation of it. Whole or, where the
  /// ranks divide the optimizer's work, the own part only; what is valid has the same bits on all ranks that have it.
  virtual void sum(kernels::Array<double> &gradient) = 0;
  virtual std::size_t memory_bytes() const = 0;
};

/// A sum that the host does.
class HostGradientSum : public GradientSum {
 public:
  void sum(kernels::Array<double> &gradient) final;

 protected:
  virtual void sum_on_host(double *gradient) = 0;
  std::size_t host_bytes() const { return host_.capacity() * sizeof(double); }

 private:
  std::vector<double> host_;  // where that is another memory
};

/// Whether every rank has the whole sum and does the whole optimizer step: what is compressed is not divided, because the
/// new parameters would have to travel uncompressed.
inline bool is_whole(const ParallelConfig &config, int ranks)
{
  return ranks > 1 && config.compression != Compression::none;
}

/// `parts`: the part of each rank where the work is divided.
std::unique_ptr<GradientSum> make_gradient_sum(std::shared_ptr<const Communicator> comm,
                                               const ParallelConfig &config,
                                               const std::vector<std::size_t> &parts,
                                               const std::vector<ParameterBlock> &index);

/// PowerSGD (Vogels, Karimireddy and Jaggi, arXiv 1905.13727): the sum of the matrices M is approximated by P Q^T with
/// `rank` columns. What the approximation leaves out is added to the next gradient (error feedback), and Q starts from
/// that of the step before. Vectors, and matrices that this would not make smaller, travel as they are.
std::unique_ptr<GradientSum> make_power_sgd(std::shared_ptr<const Communicator> comm, int rank,
                                            const std::vector<ParameterBlock> &index);

}  // namespace dptrain
