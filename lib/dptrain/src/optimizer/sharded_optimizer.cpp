#include "optimizer/sharded_optimizer.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/workers.h"

namespace dptrain {
namespace {

constexpr std::size_t numbers_of_a_thread = 16384;  // less is not worth waking one

}  // namespace

template <class T>
ShardedOptimizer<T>::ShardedOptimizer(std::string name, const OptimizerConfig &config,
                                      const std::shared_ptr<const Communicator> &comm,
                                      std::vector<std::size_t> parts,
                                      std::vector<std::size_t> extra_parts) :
    name_(std::move(name)),
    config_(config),
    partition_(comm, std::move(parts)),
    extra_(comm, std::move(extra_parts)),
    moments_(config, partition_.own())
{
}

template <class T>
void ShardedOptimizer<T>::step(std::vector<double> &parameters, const std::vector<double> &gradient,
                               double lr)
{
  if (parameters.size() != partition_.total || gradient.size() != partition_.total)
    throw internal_error(fmt::format("{}: made for {} parameters, got {}", name_, partition_.total,
                                     parameters.size()));
  guarded(*partition_.comm, [&] {
    ++steps_;
    change_own(parameters.data() + partition_.begin, gradient.data() + partition_.begin, lr);
  });
  partition_.comm->all_gather(parameters.data(), partition_.parts);
}

template <class T>
void ShardedOptimizer<T>::change_ranges(const std::vector<Range> &ranges, double *parameters,
                                        const double *gradient, double lr)
{
  const bool coupled = config_.type == OptimizerType::adam;
  const T decay(coupled ? *config_.weight_decay : 0.0);
  const double keep = coupled ? 1.0 : 1.0 - lr * *config_.weight_decay;
  const auto correction = moments_.correction(steps_, lr);
  for (const Range &range : ranges)
    kernels::for_blocks(
        range.second - range.first, numbers_of_a_thread, [&](std::size_t begin, std::size_t end) {
          moments_.step(
              range.first + begin, range.first + end, correction,
              [=](std::size_t k) { return T(gradient[k]) + decay * T(parameters[k]); },
              [=](std::size_t k, T change) { parameters[k] = keep * parameters[k] - change; });
        });
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
  add("mean", partition_, moments_.mean.data());
  add("square", partition_, moments_.square.data());
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
  std::copy_n(mean.begin() + partition_.begin, partition_.own(), moments_.mean.begin());
  std::copy_n(square.begin() + partition_.begin, partition_.own(), moments_.square.begin());
  unpack_extra(extra.data() + extra_.begin);
}

template <class T> std::size_t ShardedOptimizer<T>::memory_bytes() const
{
  return (moments_.mean.capacity() + moments_.square.capacity()) * sizeof(T);
}

template class ShardedOptimizer<double>;
template class ShardedOptimizer<float>;

}  // namespace dptrain
