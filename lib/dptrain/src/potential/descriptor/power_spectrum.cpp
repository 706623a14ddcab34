#include "potential/descriptor/power_spectrum.h"

#include "kernels/harmonics.h"

namespace dptrain {

namespace {

// Of the smallest distance that was learned: so far a net may be trusted to go on from there.
constexpr double trusted = 0.9;

EdgeLimits limits_of(const ModelConfig &model)
{
  EdgeLimits limits;
  limits.rcut = model.rcut;
  limits.hidden = power_spectrum(model).exclude_types;
  limits.hidden.insert(limits.hidden.end(), model.pair_exclude_types.begin(),
                       model.pair_exclude_types.end());
  return limits;
}

}  // namespace

template <class Real> struct PowerSpectrum<Real>::State : DescriptorState<Real> {
  kernels::Moments<Real> geometry;
  kernels::Array<int> runs;
  kernels::Array<Real> moments, a, g_a;
  std::size_t memory_bytes() const override
  {
    return DescriptorState<Real>::memory_bytes() + runs.memory_bytes() + moments.memory_bytes() +
           a.memory_bytes() + g_a.memory_bytes();
  }
};

template <class Real>
PowerSpectrum<Real>::PowerSpectrum(const ModelData &data) :
    ntypes_(data.config.ntypes()),
    config_(power_spectrum(data.config)),
    limits_(limits_of(data.config)),
    basis_(config_.n_basis, data.config.rcut, config_.rcut_smth,
           data.descriptor_constants.at("scale").at(0))
{
  for (int type = 0; type < ntypes_; ++type)
    c_.push_back(expansion_.append(config_.n_max, columns()));
}

template <class Real> std::size_t PowerSpectrum<Real>::bytes_per_center() const
{
  constexpr std::size_t arrays_of_moments = 3, arrays_of_a = 4;
  return kernels::num_harmonics(config_.l_max) * sizeof(Real) *
         (arrays_of_moments * columns() + arrays_of_a * config_.n_max);
}

template <class Real> void PowerSpectrum<Real>::set_walls(const Walls &walls)
{
  near_.clear();
  std::vector<Real> near;
  for (const double begin : walls.begin.values())
    near.push_back(static_cast<Real>(trusted * begin));
  if (!walls.empty()) near_.copy_from(near);
}

template <class Real> std::size_t PowerSpectrum<Real>::workspace_bytes() const
{
  std::size_t bytes = expansion_.memory_bytes();
  for (const auto *a : {&g_moments_, &moments_dot_, &a_dot_, &s_a_}) bytes += a->memory_bytes();
  return bytes;
}

template <class Real> void PowerSpectrum<Real>::release_workspace()
{
  expansion_.release_workspace();
  for (auto *a : {&g_moments_, &moments_dot_, &a_dot_, &s_a_}) a->clear();
}

template <class Real> std::unique_ptr<DescriptorState<Real>> PowerSpectrum<Real>::make_state() const
{
  return std::make_unique<State>();
}

template <class Real> kernels::SpectrumShape PowerSpectrum<Real>::shape(int centers) const
{
  return {centers, config_.l_max, config_.n_max, config_.axis_neuron};
}

template <class Real> void PowerSpectrum<Real>::value(DescriptorState<Real> &base, Real *d)
{
  auto &state = static_cast<State &>(base);
  auto &m = state.geometry;
  m.edges = state.edges->edges();
  m.runs = state.runs.resize(static_cast<long>(m.edges.num_centers) * (ntypes_ + 1));
  m.basis = basis_;
  m.near = near_.size() > 0 ? near_.data() + static_cast<long>(state.type) * ntypes_ : nullptr;
  m.l_max = config_.l_max;
  const long vectors =
      static_cast<long>(m.edges.num_centers) * kernels::num_harmonics(config_.l_max);
  Real *moments = state.moments.resize(vectors * columns());
  Real *a = state.a.resize(vectors * config_.n_max);
  kernels::sort_edges(m.edges, state.runs.data());
  kernels::moments_value(m, moments);
  expansion_.expand(c_[state.type], vectors, moments, a);
  kernels::spectrum_value(shape(m.edges.num_centers), a, d);
}

template <class Real>
void PowerSpectrum<Real>::reverse(DescriptorState<Real> &base, const Real *g_d,
                                  const kernels::ForceSums *sums)
{
  auto &state = static_cast<State &>(base);
  const int centers = state.geometry.edges.num_centers;
  const long vectors = static_cast<long>(state.a.size()) / config_.n_max;
  Real *g_a = state.g_a.resize(state.a.size());
  kernels::spectrum_reverse(shape(centers), state.a.data(), g_d, g_a);
  if (!sums) return;
  Real *g = g_moments_.resize(state.moments.size());
  expansion_.reverse(c_[state.type], vectors, g_a, g);
  kernels::moments_reverse(state.geometry, g, *sums);
}

template <class Real>
void PowerSpectrum<Real>::jvp(DescriptorState<Real> &base, const Direction &direction, Real *d_dot)
{
  auto &state = static_cast<State &>(base);
  const auto &m = state.geometry;
  const long vectors = static_cast<long>(state.a.size()) / config_.n_max;
  Real *moments_dot = moments_dot_.resize(state.moments.size());
  Real *a_dot = a_dot_.resize(state.a.size());
  kernels::moments_jvp(m, direction.residuals, direction.strains, moments_dot);
  expansion_.expand(c_[state.type], vectors, moments_dot, a_dot);
  kernels::spectrum_jvp(shape(m.edges.num_centers), state.a.data(), a_dot, d_dot);
}

template <class Real>
void PowerSpectrum<Real>::gradient(DescriptorState<Real> &base, const Direction &, const Real *s_d,
                                   const Real *e_d)
{
  auto &state = static_cast<State &>(base);
  const long vectors = static_cast<long>(state.a.size()) / config_.n_max;
  Real *s_a = s_a_.resize(state.a.size());
  kernels::spectrum_jvp_reverse(shape(state.geometry.edges.num_centers), state.a.data(),
                                a_dot_.data(), s_d, e_d, s_a);
  expansion_.add_gradient(c_[state.type], vectors, s_a, state.moments.data(), state.g_a.data(),
                          moments_dot_.data());
}

template class PowerSpectrum<double>;
template class PowerSpectrum<float>;

}  // namespace dptrain
