#include "potential/native/net_term.h"

#include <cmath>

#include "dptrain/potential/native/deep_pot.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/native/fitting_shape.h"
#include "potential/terms/charge_config.h"

namespace dptrain {

namespace {

// By type: whether the energy of an isolated atom is given.
std::vector<char> has_atom_energy(const ModelConfig &config)
{
  std::vector<char> has(config.ntypes(), 0);
  for (std::size_t t = 0; t < config.atom_ener.size(); ++t) has[t] = config.atom_ener[t] ? 1 : 0;
  return has;
}

template <class Real> std::unique_ptr<FittingNets<Real>> second_nets(const ModelConfig &config)
{
  const auto nets = charge_nets(config);
  if (!nets) return nullptr;
  return std::make_unique<FittingNets<Real>>(
      networks(nets->name, config.ntypes(), nets->shape, parameter_index(config)),
      std::vector<char>(config.ntypes(), 0));
}

}  // namespace

template <class Real>
NetTerm<Real>::NetTerm(const ModelData &data) :
    descriptor_(make_descriptor<Real>(data)),
    fitting_(networks(fitting_networks_name, data.config.ntypes(), fitting_shape(data.config),
                      parameter_index(data.config)),
             has_atom_energy(data.config)),
    second_(second_nets<Real>(data.config)),
    by_descriptor_(data.config.descriptor->measures_distance())
{
}

template <class Real>
std::unique_ptr<typename NetTerm<Real>::State> NetTerm<Real>::make_state() const
{
  auto state = std::make_unique<NetState>();
  state->descriptor = descriptor_->make_state();
  return state;
}

// In training: the arrays of the descriptor, layers of the fitting net with tangents and adjoints.
template <class Real> std::size_t NetTerm<Real>::bytes_per_center() const
{
  constexpr std::size_t arrays_of_inputs = 3, arrays_of_outputs = 8;
  const auto bytes = [](const FittingNets<Real> &nets) {
    return (arrays_of_inputs * nets.inputs() + arrays_of_outputs * nets.num_outputs()) *
           sizeof(Real);
  };
  return descriptor_->bytes_per_center() + bytes(fitting_) + (second_ ? bytes(*second_) : 0);
}

// First the nets: the descriptor counts how often it is made ready, and memory may run out in between.
template <class Real> void NetTerm<Real>::prepare(const double *parameters)
{
  fitting_.prepare(parameters);
  if (second_) second_->prepare(parameters);
  descriptor_->prepare(parameters);
}

template <class Real>
void NetTerm<Real>::restore(const std::vector<double> &auxiliary_state, const double *parameters)
{
  descriptor_->set_auxiliary_state(auxiliary_state);
  if (!parameters) return;
  descriptor_->prepare(parameters);
  fitting_.prepare(parameters);
  if (second_) second_->prepare(parameters);
}

template <class Real>
typename NetTerm<Real>::NetState &NetTerm<Real>::open(State &state, int type,
                                                      const EdgeChunk<Real> &edges)
{
  auto &own = static_cast<NetState &>(state);
  own.descriptor->type = type;
  own.descriptor->edges = &edges;
  return own;
}

template <class Real>
void NetTerm<Real>::value(int type, const EdgeChunk<Real> &edges, bool train, State &state,
                          double *energies)
{
  NetState &own = open(state, type, edges);
  const int n = edges.edges().num_centers;
  FittingNet<Real> &net = fitting_[type];
  descriptor_->value(*own.descriptor, net.descriptors(n, train, own.fitting));
  if (second_) {
    FittingNet<Real> &second = (*second_)[type];
    kernels::convert(own.fitting.x.front().data(), static_cast<long>(n) * net.inputs(),
                     second.descriptors(n, train, own.second));
    second.forward(second_->parameters(), own.second);
  }
  net.forward(fitting_.parameters(), own.fitting);
  if (energies) add_energies(own, energies);
}

template <class Real> void NetTerm<Real>::add_energies(const State &state, double *energies) const
{
  const auto &fitting = static_cast<const NetState &>(state).fitting;
  kernels::add_converted(fitting.x.back().data(), fitting.n, energies);
}

template <class Real>
const kernels::Array<Real> &NetTerm<Real>::second_values(const State &state) const
{
  return static_cast<const NetState &>(state).second.x.back();
}

template <class Real>
const kernels::Array<Real> &NetTerm<Real>::second_tangents(int type, const EdgeChunk<Real> &edges,
                                                           const Direction &direction, State &state)
{
  NetState &own = open(state, type, edges);
  FittingNet<Real> &second = (*second_)[type];
  descriptor_->jvp(*own.descriptor, direction, second.descriptor_tangents(own.second));
  return second.tangents(second_->parameters(), own.second);
}

// A seed of zero would lose what its atom weighs: this one counts for nothing.
template <class Real>
void NetTerm<Real>::set_second_seeds(State &state, const std::vector<double> &b) const
{
  constexpr double least = 1e-20;
  auto &own = static_cast<NetState &>(state);
  own.host_seeds = b;
  for (double &seed : own.host_seeds)
    if (std::fabs(seed) < least) seed = least;
  own.seeds.copy_from(std::vector<Real>(own.host_seeds.begin(), own.host_seeds.end()));
}

// The nets know S = sum_i b_i (c_i n_i - n_dot_i).
template <class Real>
void NetTerm<Real>::set_second_weights(State &state, const std::vector<double> &a) const
{
  auto &own = static_cast<NetState &>(state);
  std::vector<Real> c(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) c[k] = static_cast<Real>(a[k] / own.host_seeds[k]);
  own.weights.copy_from(c);
}

template <class Real>
void NetTerm<Real>::reverse(int type, const EdgeChunk<Real> &edges, const Real *seeds, State &state,
                            const kernels::ForceSums *sums)
{
  NetState &own = open(state, type, edges);
  const Real *g_d = fitting_[type].reverse(fitting_.parameters(), seeds, own.fitting);
  if (second_) {
    const long size = static_cast<long>(own.fitting.n) * fitting_.inputs();
    const Real *of_second =
        (*second_)[type].reverse(second_->parameters(), own.seeds.data(), own.second);
    kernels::convert(g_d, size, own.g_d.resize(size));
    kernels::add_converted(of_second, size, own.g_d.data());
    g_d = own.g_d.data();
  }
  descriptor_->reverse(*own.descriptor, g_d, sums);
}

template <class Real> void NetTerm<Real>::begin_gradient(double *gradient)
{
  descriptor_->begin_gradient(direct_, gradient);
  fitting_.begin_gradient(gradient);
  if (second_) second_->begin_gradient(gradient);
}

template <class Real>
void NetTerm<Real>::gradient(int type, const EdgeChunk<Real> &edges, const Real *c,
                             const Direction &direction, State &state)
{
  NetState &own = open(state, type, edges);
  Real *const tangents = fitting_[type].descriptor_tangents(own.fitting);
  descriptor_->jvp(*own.descriptor, direction, tangents);
  if (!second_) {
    const Real *s_d = fitting_.add_gradient(type, c, own.fitting);
    return descriptor_->gradient(*own.descriptor, direction, s_d, own.fitting.g_y[0].data());
  }
  const long size = static_cast<long>(own.fitting.n) * fitting_.inputs();
  kernels::convert(tangents, size, (*second_)[type].descriptor_tangents(own.second));
  const Real *of_second = second_->add_gradient(type, own.weights.data(), own.second);
  kernels::convert(fitting_.add_gradient(type, c, own.fitting), size, s_d_.resize(size));
  kernels::add_converted(of_second, size, s_d_.data());
  descriptor_->gradient(*own.descriptor, direction, s_d_.data(), own.g_d.data());
}

template <class Real> void NetTerm<Real>::flush_gradient()
{
  descriptor_->flush_gradient();
  fitting_.flush();
  if (second_) second_->flush();
}

template <class Real> void NetTerm<Real>::end_gradient()
{
  descriptor_->end_gradient();
  fitting_.end_gradient();
  if (second_) second_->end_gradient();
}

template <class Real> const Real *NetTerm<Real>::features(int type, const State &state)
{
  const FittingState<Real> &fitting = static_cast<const NetState &>(state).fitting;
  return by_descriptor_ ? fitting.x.front().data() : fitting_[type].features(fitting);
}

template <class Real> std::size_t NetTerm<Real>::workspace_bytes() const
{
  return descriptor_->workspace_bytes() + fitting_.memory_bytes() + s_d_.memory_bytes() +
         (second_ ? second_->memory_bytes() : 0);
}

template <class Real> void NetTerm<Real>::release_workspace()
{
  descriptor_->release_workspace();
  fitting_.release_workspace();
  if (second_) second_->release_workspace();
  s_d_.clear();
}

template class NetTerm<double>;
template class NetTerm<float>;

}  // namespace dptrain
