#include "optimizer/sharded_optimizer.h"

#include <algorithm>

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
    throw Error(name_ + ": made for " + std::to_string(partition_.total) + " parameters, got " +
                std::to_string(parameters.size()));
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

template <class T> std::vector<double> ShardedOptimizer<T>::state() const
{
  std::vector<double> state{static_cast<double>(steps_)};
  state.reserve(state_size());
  partition_.append_gathered(moments_.mean.data(), state);
  partition_.append_gathered(moments_.square.data(), state);
  std::vector<double> extra(extra_.own());
  pack_extra(extra.data());
  extra_.append_gathered(extra.data(), state);
  return state;
}

template <class T> void ShardedOptimizer<T>::set_state(const std::vector<double> &state)
{
  if (state.size() != state_size())
    throw Error("The optimizer state has " + std::to_string(state.size()) + " numbers, " + name_ +
                " for " + std::to_string(partition_.total) + " parameters has " +
                std::to_string(state_size()) +
                ": it belongs to another model or optimizer; continue with those of the "
                "checkpoint (keyword or input section optimizer)");
  steps_ = static_cast<std::int64_t>(state[0]);
  const double *mean = state.data() + 1, *square = mean + partition_.total;
  std::copy_n(mean + partition_.begin, partition_.own(), moments_.mean.begin());
  std::copy_n(square + partition_.begin, partition_.own(), moments_.square.begin());
  unpack_extra(square + partition_.total + extra_.begin);
}

template <class T> std::size_t ShardedOptimizer<T>::memory_bytes() const
{
  return (moments_.mean.capacity() + moments_.square.capacity()) * sizeof(T);
}

template class ShardedOptimizer<double>;
template class ShardedOptimizer<float>;

}  // namespace dptrain
