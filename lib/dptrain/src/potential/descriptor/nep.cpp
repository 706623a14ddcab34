#include "potential/descriptor/nep.h"

#include "kernels/harmonics.h"
#include "potential/descriptor/nep_products.h"

namespace dptrain {

namespace {

EdgeLimits limits_of(const ModelConfig &model)
{
  EdgeLimits limits;
  limits.rcut = model.rcut;
  limits.hidden = model.pair_exclude_types;
  return limits;
}

// [ntypes][ntypes] The mean of the cutoffs of two elements.
template <class Real> std::vector<Real> means(const std::vector<double> &cutoffs, bool squared)
{
  std::vector<Real> result;
  for (const double a : cutoffs)
    for (const double b : cutoffs) {
      const double mean = 0.5 * (a + b);
      result.push_back(static_cast<Real>(squared ? mean * mean : mean));
    }
  return result;
}

}  // namespace

template <class Real> struct Nep<Real>::State : DescriptorState<Real> {
  kernels::NepMoments<Real> geometry;
  kernels::Array<int> runs;
  StateOfPart radial, angular;
  std::size_t memory_bytes() const override
  {
    return DescriptorState<Real>::memory_bytes() + runs.memory_bytes() + radial.memory_bytes() +
           angular.memory_bytes();
  }
};

template <class Real> long Nep<Real>::Part::vectors(int centers) const
{
  return static_cast<long>(centers) * kernels::num_harmonics(l_max);
}

template <class Real>
Nep<Real>::Nep(const ModelData &data) :
    ntypes_(data.config.ntypes()), config_(nep(data.config)), limits_(limits_of(data.config))
{
  radial_.channels = config_.n_max_radial + 1;
  radial_.functions = config_.basis_size_radial + 1;
  angular_.channels = config_.n_max_angular + 1;
  angular_.functions = config_.basis_size_angular + 1;
  angular_.l_max = config_.l_max;
  const std::vector<double> radial = config_.cutoffs(config_.rcut_radial, ntypes_),
                            angular = config_.cutoffs(config_.rcut_angular, ntypes_);
  radial_.cutoffs.copy_from(means<Real>(radial, false));
  angular_.cutoffs.copy_from(means<Real>(angular, false));
  near_squared_.copy_from(means<Real>(angular, true));
  for (int type = 0; type < ntypes_; ++type)
    for (Part *part : {&radial_, &angular_})
      part->c.push_back(expansion_.append(part->channels, part->columns(ntypes_)));
  const NepProducts products = nep_products(config_);
  quartic_block_ = products.quartic_block;
  std::vector<kernels::ThreeFold<Real>> terms;
  for (const auto &term : products.three_fold)
    terms.push_back({term.block, term.i, term.j, term.k, static_cast<Real>(term.factor)});
  products_.copy_from(terms);
  const std::vector<double> &scaler = data.descriptor_constants.at("scaler");
  scale_.copy_from(std::vector<Real>(scaler.begin(), scaler.end()));
}

template <class Real> std::size_t Nep<Real>::bytes_per_center() const
{
  constexpr std::size_t arrays_of_moments = 3, arrays_of_a = 4;
  std::size_t bytes = 0;
  for (const Part *part : {&radial_, &angular_})
    bytes += static_cast<std::size_t>(part->vectors(1)) * sizeof(Real) *
             (arrays_of_moments * part->columns(ntypes_) + arrays_of_a * part->channels);
  return bytes;
}

template <class Real> std::size_t Nep<Real>::workspace_bytes() const
{
  std::size_t bytes = expansion_.memory_bytes();
  for (const Part *part : {&radial_, &angular_})
    for (const auto *a : {&part->g_moments, &part->moments_dot, &part->a_dot, &part->s_a})
      bytes += a->memory_bytes();
  return bytes;
}

template <class Real> void Nep<Real>::release_workspace()
{
  expansion_.release_workspace();
  for (Part *part : {&radial_, &angular_})
    for (auto *a : {&part->g_moments, &part->moments_dot, &part->a_dot, &part->s_a}) a->clear();
}

template <class Real> std::unique_ptr<DescriptorState<Real>> Nep<Real>::make_state() const
{
  return std::make_unique<State>();
}

template <class Real> kernels::NepShape<Real> Nep<Real>::shape(int centers) const
{
  kernels::NepShape<Real> shape;
  shape.centers = centers;
  shape.radial = radial_.channels;
  shape.angular = angular_.channels;
  shape.l_max = angular_.l_max;
  shape.blocks = config_.blocks();
  shape.quartic_block = quartic_block_;
  shape.quartic = static_cast<Real>(nep_quartic);
  shape.products = products_.data();
  shape.num_products = static_cast<int>(products_.size());
  shape.scale = scale_.data();
  return shape;
}

template <class Real>
kernels::ChebyshevBasis<Real> Nep<Real>::basis(const Part &part, int type) const
{
  kernels::ChebyshevBasis<Real> basis;
  basis.size = part.functions;
  basis.cutoffs = part.cutoffs.data() + static_cast<long>(type) * ntypes_;
  basis.rcut = static_cast<Real>(limits_.rcut);
  return basis;
}

template <class Real> void Nep<Real>::value(DescriptorState<Real> &base, Real *d)
{
  auto &state = static_cast<State &>(base);
  const kernels::Edges<Real> edges = state.edges->edges();
  int *runs = state.runs.resize(static_cast<long>(edges.num_centers) * (2 * ntypes_ + 1));
  kernels::sort_edges(edges, near_squared_.data() + static_cast<long>(state.type) * ntypes_, runs);
  const auto part = [&](const Part &own, auto &m, StateOfPart &of_part, int used) {
    m.edges = edges;
    m.runs = runs;
    m.parts = 2;
    m.used = used;
    m.basis = basis(own, state.type);
    m.l_max = own.l_max;
    const long vectors = own.vectors(edges.num_centers);
    Real *moments = of_part.moments.resize(vectors * own.columns(ntypes_));
    kernels::moments_value(m, moments);
    expansion_.expand(own.c[state.type], vectors, moments,
                      of_part.a.resize(vectors * own.channels));
  };
  part(radial_, state.geometry.radial, state.radial, 2);
  part(angular_, state.geometry.angular, state.angular, 1);
  kernels::nep_value(shape(edges.num_centers), state.radial.a.data(), state.angular.a.data(), d);
}

template <class Real>
void Nep<Real>::reverse(DescriptorState<Real> &base, const Real *g_d,
                        const kernels::ForceSums *sums)
{
  auto &state = static_cast<State &>(base);
  const int centers = state.geometry.radial.edges.num_centers;
  Real *g_radial = state.radial.g_a.resize(state.radial.a.size()),
       *g_angular = state.angular.g_a.resize(state.angular.a.size());
  kernels::nep_reverse(shape(centers), state.angular.a.data(), g_d, g_radial, g_angular);
  if (!sums) return;
  const auto part = [&](Part &own, const StateOfPart &of_part) {
    expansion_.reverse(own.c[state.type], own.vectors(centers), of_part.g_a.data(),
                       own.g_moments.resize(of_part.moments.size()));
  };
  part(radial_, state.radial);
  part(angular_, state.angular);
  kernels::moments_reverse(state.geometry, radial_.g_moments.data(), angular_.g_moments.data(),
                           *sums);
}

template <class Real>
void Nep<Real>::jvp(DescriptorState<Real> &base, const Direction &direction, Real *d_dot)
{
  auto &state = static_cast<State &>(base);
  const int centers = state.geometry.radial.edges.num_centers;
  const auto part = [&](Part &own, const auto &m) {
    const long vectors = own.vectors(centers);
    Real *moments_dot = own.moments_dot.resize(vectors * own.columns(ntypes_));
    kernels::moments_jvp(m, direction.residuals, direction.strains, moments_dot);
    expansion_.expand(own.c[state.type], vectors, moments_dot,
                      own.a_dot.resize(vectors * own.channels));
  };
  part(radial_, state.geometry.radial);
  part(angular_, state.geometry.angular);
  kernels::nep_jvp(shape(centers), state.angular.a.data(), radial_.a_dot.data(),
                   angular_.a_dot.data(), d_dot);
}

template <class Real>
void Nep<Real>::gradient(DescriptorState<Real> &base, const Direction &, const Real *s_d,
                         const Real *e_d)
{
  auto &state = static_cast<State &>(base);
  const int centers = state.geometry.radial.edges.num_centers;
  kernels::nep_jvp_reverse(shape(centers), state.angular.a.data(), angular_.a_dot.data(), s_d, e_d,
                           radial_.s_a.resize(state.radial.a.size()),
                           angular_.s_a.resize(state.angular.a.size()));
  const auto part = [&](const Part &own, const StateOfPart &of_part) {
    expansion_.add_gradient(own.c[state.type], own.vectors(centers), own.s_a.data(),
                            of_part.moments.data(), of_part.g_a.data(), own.moments_dot.data());
  };
  part(radial_, state.radial);
  part(angular_, state.angular);
}

template class Nep<double>;
template class Nep<float>;

}  // namespace dptrain
