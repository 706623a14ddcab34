#include "potential/nets/fitting_nets.h"

#include <utility>

#include "kernels/layer.h"

namespace dptrain {

template <class Real>
FittingNets<Real>::FittingNets(const std::vector<Mlp> &nets, std::vector<char> subtracts) :
    subtracts_(std::move(subtracts)), vacuum_(nets.size())
{
  for (const Mlp &net : nets) {
    nets_.emplace_back(net.layers());
    begin_.push_back(net.layers().front().w);
  }
  const Layer &last = nets.back().layers().back();  // without factors: its bias is the end
  begin_.push_back(last.b + last.out);
}

template <class Real> int FittingNets<Real>::num_outputs() const
{
  int sum = 0;
  for (const Layer &layer : nets_.front().layers()) sum += layer.out;
  return sum;
}

template <class Real> void FittingNets<Real>::prepare(const double *parameters)
{
  master_ = parameters;
  if constexpr (!is_float64) {
    copy_.resize(begin_.back());
    kernels::convert(master_ + begin(), static_cast<long>(begin_.back() - begin()),
                     copy_.data() + begin());
  }
  for (int type = 0; type < number(); ++type) {
    if (!subtracts(type)) continue;
    FittingNet<Real> &net = nets_[type];
    Vacuum &vacuum = vacuum_[type];
    kernels::clear(net.descriptors(1, false, vacuum.state), net.inputs() * sizeof(Real));
    net.forward(this->parameters(), vacuum.state);
    vacuum.is_on_host = false;
  }
}

// Asked for where the host has to wait anyway.
template <class Real> double FittingNets<Real>::vacuum_energy(int type)
{
  Vacuum &vacuum = vacuum_[type];
  if (!vacuum.is_on_host) vacuum.energy = vacuum.state.x.back().to_host().front();
  vacuum.is_on_host = true;
  return vacuum.energy;
}

template <class Real> const Real *FittingNets<Real>::parameters() const
{
  if constexpr (is_float64)
    return master_;
  else
    return copy_.data();
}

template <class Real> void FittingNets<Real>::begin_gradient(double *gradient)
{
  flushed_ = false;
  target_ = gradient;
  if constexpr (is_float64)
    gradient_ = target_;
  else
    gradient_ = gradient_copy_.resize(begin_.back());
  // to clear all at once takes a device less time than to begin with each of its parts
  const bool at_once = kernels::separate_memory();
  if (at_once) kernels::clear(gradient_ + begin(), (begin_.back() - begin()) * sizeof(Real));
  fresh_.assign(nets_.size(), at_once ? 0 : 1);
}

template <class Real>
const Real *FittingNets<Real>::add_gradient(int type, const Real *c, FittingState<Real> &state)
{
  const bool add = fresh_[type] == 0;
  fresh_[type] = 0;
  return nets_[type].gradient(parameters(), c, state, add, gradient_);
}

template <class Real> void FittingNets<Real>::add_vacuum_gradient(int type, const Real *weight)
{
  FittingNet<Real> &net = nets_[type];
  kernels::clear(net.descriptors(1, true, vacuum_state_), net.inputs() * sizeof(Real));
  net.forward(parameters(), vacuum_state_);
  net.reverse(parameters(), nullptr, vacuum_state_);
  kernels::clear(net.descriptor_tangents(vacuum_state_), net.inputs() * sizeof(Real));
  add_gradient(type, weight, vacuum_state_);
}

template <class Real> void FittingNets<Real>::flush()
{
  if constexpr (!is_float64) {
    for (int type = 0; type < number(); ++type) {
      double *target = target_ + begin_[type];
      const Real *sum = gradient_ + begin_[type];
      if (fresh_[type] == 0 && flushed_)
        kernels::add_converted(sum, static_cast<long>(size(type)), target);
      else if (fresh_[type] == 0)
        kernels::convert(sum, static_cast<long>(size(type)), target);
      else if (!flushed_)
        kernels::clear(target, size(type) * sizeof(double));
      fresh_[type] = 1;
    }
    flushed_ = true;
  }
}

template <class Real> void FittingNets<Real>::end_gradient()
{
  flush();
  if constexpr (is_float64)
    for (int type = 0; type < number(); ++type)
      if (fresh_[type] != 0) kernels::clear(gradient_ + begin_[type], size(type) * sizeof(Real));
}

template <class Real> std::size_t FittingNets<Real>::memory_bytes() const
{
  std::size_t n =
      vacuum_state_.memory_bytes() + copy_.memory_bytes() + gradient_copy_.memory_bytes();
  for (const Vacuum &vacuum : vacuum_) n += vacuum.state.memory_bytes();
  for (const auto &net : nets_) n += net.memory_bytes();
  return n;
}

template <class Real> void FittingNets<Real>::release_workspace()
{
  vacuum_state_ = FittingState<Real>();
  gradient_copy_.clear();
  for (auto &net : nets_) net.release_workspace();
}

template class FittingNets<double>;
template class FittingNets<float>;

}  // namespace dptrain
