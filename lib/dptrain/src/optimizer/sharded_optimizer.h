#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optimizer/moments.h"
#include "optimizer/optimizer.h"
#include "optimizer/partition.h"

namespace dptrain {

/// What all optimizers with Adam's moments have in common: the division over the ranks, and the state. The moments, and
/// with them the optimizer's own arithmetic, are in T (double or float), parameters and gradient always in double.
template <class T> class ShardedOptimizer : public Optimizer {
 public:
  const std::vector<std::size_t> &parts() const override { return partition_.parts; }
  void step(double *parameters, const double *gradient, double lr) override;
  State state() const override;
  void set_state(const State &state) override;
  std::size_t memory_bytes() const override;

 protected:
  /// `extra_parts`: numbers of the state beside the moments, by rank.
  ShardedOptimizer(std::string name, const OptimizerConfig &config,
                   const std::shared_ptr<const Communicator> &comm, std::vector<std::size_t> parts,
                   std::vector<std::size_t> extra_parts);

  /// One step of the own range; both arrays begin with the own range, in the memory of the kernels.
  virtual void change_own(double *parameters, const double *gradient, double lr) = 0;
  /// The ranges that change_ranges changes, in ascending order, from the beginning of the own range.
  void set_ranges(const std::vector<kernels::Part> &ranges);
  /// Adam's step of these, with rates in the memory of the kernels; both arrays begin with the own range.
  void change_ranges(double *parameters, const double *gradient, const kernels::AdamRates *rates);
  virtual void pack_extra(double *) const {}
  virtual void unpack_extra(const double *) {}

  std::string name_;  // for messages
  OptimizerConfig config_;
  Partition partition_, extra_;
  Moments<T> moments_;  // of the own range
  std::int64_t steps_ = 0;

 private:
  kernels::Array<kernels::Part> ranges_;  // adjacent ones are one
};

/// Adam and AdamW (Loshchilov and Hutter, arXiv 1711.05101).
std::unique_ptr<Optimizer> make_adam(const OptimizerConfig &config,
                                     const std::vector<ParameterBlock> &index,
                                     const std::shared_ptr<const Communicator> &comm);

/// SOAP (Vyas et al., arXiv 2409.11321), see soap.cpp.
std::unique_ptr<Optimizer> make_soap(const OptimizerConfig &config,
                                     const std::vector<ParameterBlock> &index,
                                     const std::shared_ptr<const Communicator> &comm);

}  // namespace dptrain
