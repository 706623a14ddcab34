#include "potential/native/net_term.h"

#include "dptrain/potential/native/deep_pot.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/native/fitting_shape.h"

namespace dptrain {

namespace {

// By type: whether the energy of an isolated atom is given.
std::vector<char> has_atom_energy(const ModelConfig &config)
{
  std::vector<char> has(config.ntypes(), 0);
  for (std::size_t t = 0; t < config.atom_ener.size(); ++t) has[t] = config.atom_ener[t] ? 1 : 0;
  return has;
}

}  // namespace

template <class Real>
NetTerm<Real>::NetTerm(const ModelData &data) :
    descriptor_(make_descriptor<Real>(data)),
    fitting_(networks(fitting_networks_name, data.config.ntypes(), fitting_shape(data.config),
                      parameter_index(data.config)),
             has_atom_energy(data.config)),
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
  return descriptor_->bytes_per_center() +
         (arrays_of_inputs * fitting_.inputs() + arrays_of_outputs * fitting_.num_outputs()) *
             sizeof(Real);
}

// First the nets: the descriptor counts how often it is made ready, and memory may run out in between.
template <class Real> void NetTerm<Real>::prepare(const double *parameters)
{
  fitting_.prepare(parameters);
  descriptor_->prepare(parameters);
}

template <class Real>
void NetTerm<Real>::restore(const std::vector<double> &auxiliary_state, const double *parameters)
{
  descriptor_->set_auxiliary_state(auxiliary_state);
  if (!parameters) return;
  descriptor_->refill(parameters);
  fitting_.prepare(parameters);
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
  const Real *energy = net.forward(fitting_.parameters(), own.fitting);
  if (energies) kernels::add_converted(energy, n, energies);
}

template <class Real>
void NetTerm<Real>::reverse(int type, const EdgeChunk<Real> &edges, const Real *seeds, State &state,
                            const kernels::ForceSums *sums)
{
  NetState &own = open(state, type, edges);
  const Real *g_d = fitting_[type].reverse(fitting_.parameters(), seeds, own.fitting);
  descriptor_->reverse(*own.descriptor, g_d, sums);
}

template <class Real> void NetTerm<Real>::begin_gradient(double *gradient)
{
  descriptor_->begin_gradient(direct_, gradient);
  fitting_.begin_gradient(gradient);
}

template <class Real>
void NetTerm<Real>::gradient(int type, const EdgeChunk<Real> &edges, const Real *c,
                             const Direction &direction, State &state)
{
  NetState &own = open(state, type, edges);
  descriptor_->jvp(*own.descriptor, direction, fitting_[type].descriptor_tangents(own.fitting));
  const Real *s_d = fitting_.add_gradient(type, c, own.fitting);
  descriptor_->gradient(*own.descriptor, direction, s_d, own.fitting.g_y[0].data());
}

template <class Real> void NetTerm<Real>::flush_gradient()
{
  descriptor_->flush_gradient();
  fitting_.flush();
}

template <class Real> void NetTerm<Real>::end_gradient()
{
  descriptor_->end_gradient();
  fitting_.end_gradient();
}

template <class Real> const Real *NetTerm<Real>::features(int type, const State &state)
{
  const FittingState<Real> &fitting = static_cast<const NetState &>(state).fitting;
  return by_descriptor_ ? fitting.x.front().data() : fitting_[type].features(fitting);
}

template <class Real> std::size_t NetTerm<Real>::workspace_bytes() const
{
  return descriptor_->workspace_bytes() + fitting_.memory_bytes();
}

template <class Real> void NetTerm<Real>::release_workspace()
{
  descriptor_->release_workspace();
  fitting_.release_workspace();
}

template class NetTerm<double>;
template class NetTerm<float>;

}  // namespace dptrain
