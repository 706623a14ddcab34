#include "potential/nets/fitting_net.h"

#include "potential/nets/gemm.h"

namespace dptrain {

namespace {

template <class Real> std::size_t bytes(const std::vector<kernels::Array<Real>> &arrays)
{
  std::size_t sum = 0;
  for (const auto &array : arrays) sum += array.memory_bytes();
  return sum;
}

}  // namespace

template <class Real> std::size_t FittingState<Real>::memory_bytes() const
{
  return bytes(x) + bytes(f[0]) + bytes(f[1]) + bytes(f[2]) + bytes(g_y) + bytes(g_z);
}

template <class Real>
Real *FittingNet<Real>::descriptors(int n, bool train, FittingState<Real> &state) const
{
  state.n = n;
  state.train = train;
  state.x.resize(layers_.size() + 1);
  for (std::size_t l = 0; l < layers_.size(); ++l)
    state.x[l].resize(static_cast<long>(train ? 2 * n : n) * layers_[l].in);
  state.x.back().resize(n);
  return state.x[0].data();
}

template <class Real>
const Real *FittingNet<Real>::forward(const Real *parameters, FittingState<Real> &state) const
{
  const int n = state.n;
  for (auto &derivatives : state.f) derivatives.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer &layer = layers_[l];
    const long size = static_cast<long>(n) * layer.out;
    const Real *x = state.x[l].data();
    Real *z = state.f[0][l].resize(size);  // the activation is taken in place
    gemm<Real>(false, false, n, layer.out, layer.in, 1, x, parameters + layer.w, 0, z);
    kernels::layer_value(shape(layer, n, parameters), layer.activation, parameters + layer.b, x, z,
                         state.f[1][l].resize(size),
                         state.train ? state.f[2][l].resize(size) : nullptr, state.x[l + 1].data());
  }
  return state.x.back().data();
}

template <class Real>
const Real *FittingNet<Real>::reverse(const Real *parameters, const Real *seeds,
                                      FittingState<Real> &state)
{
  const int n = state.n;
  if (ones_.size() < static_cast<std::size_t>(n)) ones_.copy_from(std::vector<Real>(n, Real(1)));
  state.seeds = seeds;
  const Real *g = seeds ? seeds : ones_.data();
  state.g_y.resize(layers_.size() + 1);
  state.g_z.resize(layers_.size());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer &layer = layers_[l];
    const long size = static_cast<long>(n) * layer.out;
    Real *g_z = state.g_z[l].resize(state.train ? 2 * size : size) + (state.train ? size : 0);
    Real *g_x = state.g_y[l].resize(static_cast<long>(n) * layer.in);
    kernels::layer_reverse(shape(layer, n, parameters), state.f[1][l].data(), g, g_z, g_x);
    gemm<Real>(false, true, n, layer.in, layer.out, 1, g_z, parameters + layer.w,
               layer.skip > 0 ? 1 : 0, g_x);
    g = g_x;
  }
  return g;
}

template <class Real>
const kernels::Array<Real> &FittingNet<Real>::tangents(const Real *parameters,
                                                       FittingState<Real> &state)
{
  const int n = state.n;
  z_dot_.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer &layer = layers_[l];
    const long size = static_cast<long>(n) * layer.out;
    const Real *x_dot = state.x[l].data() + static_cast<long>(n) * layer.in;
    Real *z_dot = z_dot_[l].resize(size);
    gemm<Real>(false, false, n, layer.out, layer.in, 1, x_dot, parameters + layer.w, 0, z_dot);
    if (l + 1 < layers_.size())
      kernels::layer_tangent(shape(layer, n, parameters), state.f[1][l].data(), z_dot, x_dot,
                             state.x[l + 1].data() + size);
  }
  return z_dot_.back();  // the last layer is linear
}

template <class Real>
const Real *FittingNet<Real>::gradient(const Real *parameters, const Real *c,
                                       FittingState<Real> &state, bool add, Real *gradient)
{
  tangents(parameters, state);
  const int n = state.n;
  const Real *const seeds = state.seeds ? state.seeds : ones_.data();
  const Real *g_y_dot = nullptr;  // the energies are the start of the adjoint: no tangent there
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer &layer = layers_[l];
    const auto s = shape(layer, n, parameters);
    const bool last = l + 1 == layers_.size();
    const Real *g_y = last ? seeds : state.g_y[l + 1].data();
    const Real *f0 = state.f[0][l].data(), *f1 = state.f[1][l].data(), *f2 = state.f[2][l].data();
    Real *minus_g_z_dot = state.g_z[l].data();
    const Real *g_z = minus_g_z_dot + static_cast<long>(n) * layer.out;
    auto &next = g_dot_[l % 2];
    next.resize(static_cast<long>(n) * layer.in);
    // dS/dW = (c x - x_dot)^T g_z - x^T g_z_dot
    Real *x = state.x[l].data(), *x_dot = x + static_cast<long>(n) * layer.in;
    kernels::layer_reverse_tangent(s, f1, f2, z_dot_[l].data(), g_y, g_y_dot, c, x, x_dot,
                                   minus_g_z_dot, next.data());
    Real *g_bias = gradient + layer.b, *g_idt = layer.has_idt ? gradient + layer.idt : nullptr;
    if (!add) {
      kernels::clear(g_bias, layer.out * sizeof(Real));
      if (g_idt) kernels::clear(g_idt, layer.out * sizeof(Real));
    }
    kernels::layer_gradient(s, f0, f1, z_dot_[l].data(), g_y, g_y_dot, g_z, minus_g_z_dot, c,
                            g_bias, g_idt);
    gemm<Real>(true, false, layer.in, layer.out, 2L * n, 1, x, minus_g_z_dot, add ? 1 : 0,
               gradient + layer.w);
    gemm<Real>(false, true, n, layer.in, layer.out, -1, minus_g_z_dot, parameters + layer.w,
               layer.skip > 0 ? 1 : 0, next.data());
    g_y_dot = next.data();
  }
  // dS/dD = c dE/dD - its tangent
  kernels::scale_and_subtract(n, inputs(), c, state.g_y[0].data(), g_dot_[0].data());
  return g_dot_[0].data();
}

template <class Real> void FittingNet<Real>::release_workspace()
{
  ones_.clear();
  std::vector<kernels::Array<Real>>().swap(z_dot_);
  for (auto &array : g_dot_) array.clear();
}

template <class Real> std::size_t FittingNet<Real>::memory_bytes() const
{
  return ones_.memory_bytes() + bytes(z_dot_) + g_dot_[0].memory_bytes() + g_dot_[1].memory_bytes();
}

template struct FittingState<double>;
template struct FittingState<float>;
template class FittingNet<double>;
template class FittingNet<float>;

}  // namespace dptrain
