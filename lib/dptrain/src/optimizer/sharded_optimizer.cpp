#include "optimizer/sharded_optimizer.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/runtime.h"
#include "parallel/kernel_arrays.h"

namespace dptrain {
template <class T>
ShardedOptimizer<T>::ShardedOptimizer(std::string name, const OptimizerConfig &config,
                                      const std::shared_ptr<const Communicator> &comm,
                                      std::vector<std::size_t> parts,
                                      std::vector<std::size_t> extra_parts) :
    name_(std::move(name)),
    config_(config),
    partition_(comm, std::move(parts)),
    extra_(comm, std::move(extra_parts)),
    moments_((ensure_runtime(), config), partition_.own())
{
}

template <class T>
void ShardedOptimizer<T>::step(double *parameters, const double *gradient, double lr)
{
  guarded(*partition_.comm, [&] {
    ++steps_;
    change_own(parameters + partition_.begin, gradient + partition_.begin, lr);
  });
  all_gather_in_kernels(*partition_.comm, parameters, partition_.parts);
}

template <class T> void ShardedOptimizer<T>::set_ranges(const std::vector<kernels::Part> &ranges)
{
  std::vector<kernels::Part> parts;
  for (auto next = ranges.begin(); next != ranges.end();) {
    kernels::Part whole = *next++;
    for (; next != ranges.end() && next->begin == whole.begin + whole.size; ++next)
      whole.size += next->size;
    kernels::append_adam_parts(whole.begin, whole.size, parts);
  }
  ranges_.copy_from(parts);
}

template <class T>
void ShardedOptimizer<T>::change_ranges(double *parameters, const double *gradient,
                                        const kernels::AdamRates *rates)
{
  if (ranges_.size() > 0)
    kernels::adam_step(moments_.constants, rates, ranges_, gradient, moments_.mean.data(),
                       moments_.square.data(), parameters);
}

template <class T> State ShardedOptimizer<T>::state() const
{
  State state;
  const auto add = [&](const char *name, const Partition &partition, const auto *own) {
    std::vector<double> all;
    all.reserve(partition.total);
    partition.append_gathered(own, all);
    state.set(name, std::move(all));
  };
  state.set("steps", steps_);
  add("mean", partition_, moments_.mean.to_host().data());
  add("square", partition_, moments_.square.to_host().data());
  std::vector<double> extra(extra_.own());
  pack_extra(extra.data());
  add("extra", extra_, extra.data());
  return state;
}

template <class T> void ShardedOptimizer<T>::set_state(const State &state)
{
  const auto &mean = state.at<std::vector<double>>("mean"),
             &square = state.at<std::vector<double>>("square"),
             &extra = state.at<std::vector<double>>("extra");
  const std::size_t n = partition_.total;
  if (mean.size() != n || square.size() != n || extra.size() != extra_.total)
    throw Error(fmt::format(
        "The optimizer state has {} means, {} squares and {} further numbers, {} for {} parameters "
        "has {} further numbers: it belongs to another model or optimizer; continue with those of "
        "the checkpoint (keyword or input section optimizer)",
        mean.size(), square.size(), extra.size(), name_, n, extra_.total));
  steps_ = state.get<std::uint64_t>("steps");  // not negative
  const auto own = [&](const std::vector<double> &all) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(partition_.begin);
    return std::vector<T>(first, first + static_cast<std::ptrdiff_t>(partition_.own()));
  };
  moments_.mean.copy_from(own(mean));
  moments_.square.copy_from(own(square));
  unpack_extra(extra.data() + extra_.begin);
}

template <class T> std::size_t ShardedOptimizer<T>::memory_bytes() const
{
  return moments_.memory_bytes() + ranges_.memory_bytes();
}

template class ShardedOptimizer<double>;
template class ShardedOptimizer<float>;

}  // namespace dptrain
