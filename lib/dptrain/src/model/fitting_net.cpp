#include "model/fitting_net.h"

#include "model/gemm.h"

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

template <class Real> Real *FittingNet<Real>::descriptors(int n, FittingState<Real> &state) const
{
  state.x.resize(layers_.size() + 1);
  return state.x[0].resize(static_cast<long>(n) * inputs());
}

template <class Real>
const Real *FittingNet<Real>::forward(const Real *parameters, int n, bool train,
                                      FittingState<Real> &state) const
{
  for (auto &derivatives : state.f) derivatives.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer &layer = layers_[l];
    const long size = static_cast<long>(n) * layer.out;
    Real *z = state.f[0][l].resize(size);  // the activation is taken in place
    gemm<Real>(false, false, n, layer.out, layer.in, 1, state.x[l].data(), parameters + layer.w, 0, z);
    Real *const f[4] = {z, state.f[1][l].resize(size), train ? state.f[2][l].resize(size) : nullptr,
                        nullptr};
    kernels::activation_jet(layer.activation, n, layer.out, train ? 2 : 1, z, parameters + layer.b, f);
    kernels::layer_value(shape(layer, n, parameters), z, state.x[l].data(),
                         state.x[l + 1].resize(size));
  }
  return state.x.back().data();
}

template <class Real>
const Real *FittingNet<Real>::reverse(const Real *parameters, int n, FittingState<Real> &state)
{
  state.g_y.resize(layers_.size() + 1);
  state.g_z.resize(layers_.size());
  if (ones_.size() < static_cast<std::size_t>(n)) ones_.copy_from(std::vector<Real>(n, Real(1)));
  const Real *g = ones_.data();
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer &layer = layers_[l];
    Real *g_z = state.g_z[l].resize(static_cast<long>(n) * layer.out);
    Real *g_x = state.g_y[l].resize(static_cast<long>(n) * layer.in);
    kernels::layer_reverse(shape(layer, n, parameters), state.f[1][l].data(), g, g_z, g_x);
    gemm<Real>(false, true, n, layer.in, layer.out, 1, g_z, parameters + layer.w,
               layer.skip > 0 ? 1 : 0, g_x);
    g = g_x;
  }
  return g;
}

template <class Real>
void FittingNet<Real>::tangents(const Real *parameters, int n, kernels::Array<Real> &d_dot,
                                const FittingState<Real> &state)
{
  x_dot_.resize(layers_.size());
  z_dot_.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer &layer = layers_[l];
    const long size = static_cast<long>(n) * layer.out;
    const Real *x_dot = l == 0 ? d_dot.data() : x_dot_[l].data();
    Real *z_dot = z_dot_[l].resize(size);
    gemm<Real>(false, false, n, layer.out, layer.in, 1, x_dot, parameters + layer.w, 0, z_dot);
    if (l + 1 < layers_.size())
      kernels::layer_tangent(shape(layer, n, parameters), state.f[1][l].data(), z_dot, x_dot,
                             x_dot_[l + 1].resize(size));
  }
}

template <class Real>
const Real *FittingNet<Real>::gradient(const Real *parameters, int n, const Real *c,
                                       kernels::Array<Real> &d_dot, const FittingState<Real> &state,
                                       Real *gradient)
{
  tangents(parameters, n, d_dot, state);
  const Real *g_y_dot = nullptr;  // the energies are the start of the adjoint: no tangent there
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer &layer = layers_[l];
    const auto s = shape(layer, n, parameters);
    const bool last = l + 1 == layers_.size();
    const Real *g_y = last ? ones_.data() : state.g_y[l + 1].data();
    const Real *f0 = state.f[0][l].data(), *f1 = state.f[1][l].data(), *f2 = state.f[2][l].data();
    Real *minus_g_z_dot = minus_g_z_dot_.resize(static_cast<long>(n) * layer.out);
    auto &next = g_dot_[l % 2];
    next.resize(static_cast<long>(n) * layer.in);
    kernels::layer_reverse_tangent(s, f1, f2, z_dot_[l].data(), g_y, g_y_dot, minus_g_z_dot,
                                   next.data());
    kernels::layer_gradient(s, f0, f1, z_dot_[l].data(), g_y, g_y_dot, state.g_z[l].data(),
                            minus_g_z_dot, c, gradient + layer.b,
                            layer.has_idt ? gradient + layer.idt : nullptr);
    // dS/dW = (c x - x_dot)^T g_z - x^T g_z_dot
    Real *x_dot = l == 0 ? d_dot.data() : x_dot_[l].data();
    const Real *x = state.x[l].data();
    kernels::scale_and_subtract(n, layer.in, c, x, x_dot);
    Real *g_w = gradient + layer.w;
    gemm<Real>(true, false, layer.in, layer.out, n, 1, x_dot, state.g_z[l].data(), 1, g_w);
    gemm<Real>(true, false, layer.in, layer.out, n, 1, x, minus_g_z_dot, 1, g_w);
    gemm<Real>(false, true, n, layer.in, layer.out, -1, minus_g_z_dot, parameters + layer.w,
               layer.skip > 0 ? 1 : 0, next.data());
    g_y_dot = next.data();
  }
  // dS/dD = c dE/dD - its tangent
  kernels::scale_and_subtract(n, inputs(), c, state.g_y[0].data(), g_dot_[0].data());
  return g_dot_[0].data();
}

template <class Real> std::size_t FittingNet<Real>::memory_bytes() const
{
  return ones_.memory_bytes() + bytes(x_dot_) + bytes(z_dot_) + minus_g_z_dot_.memory_bytes() +
      g_dot_[0].memory_bytes() + g_dot_[1].memory_bytes();
}

template struct FittingState<double>;
template struct FittingState<float>;
template class FittingNet<double>;
template class FittingNet<float>;

}  // namespace dptrain
