#include "model/mlp.h"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

namespace dptrain {
namespace {

at::Tensor matrix(const double *data, long rows, long columns)
{
  return at::from_blob(const_cast<double *>(data), {rows, columns}, at::kDouble);
}

kernels::DenseShape dense_shape(const Layer &layer, int n, int order)
{
  return {n, layer.in, layer.out, order, layer.skip};
}

void add_column_sums(const double *values, int rows, int columns, double *sums)
{
  auto target = at::from_blob(sums, {columns}, at::kDouble);
  target.add_(matrix(values, rows, columns).sum(0));
}

}  // namespace

std::size_t MlpWorkspace::memory_bytes() const
{
  std::size_t n =
      y.capacity() + g_y.capacity() + g_z.capacity() + g_x.capacity() + idt_terms.capacity();
  for (const auto &l : layers) {
    n += l.x.capacity() + l.z.capacity();
    for (const auto &f : l.f) n += f.capacity();
  }
  return n * sizeof(double);
}

const double *Mlp::forward(const double *parameters, int n, int order, const double *x,
                           MlpWorkspace &ws) const
{
  const long rows = static_cast<long>(order + 1) * n;
  ws.layers.resize(layers_.size());
  ws.y.assign(x, x + rows * inputs());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer &layer = layers_[l];
    auto &v = ws.layers[l];
    v.x.swap(ws.y);
    v.z.resize(rows * layer.out);
    ws.y.resize(rows * layer.out);
    auto z = matrix(v.z.data(), rows, layer.out);
    at::mm_out(z, matrix(v.x.data(), rows, layer.in),
               matrix(parameters + layer.w, layer.in, layer.out));
    const auto shape = dense_shape(layer, n, order);
    kernels::add_bias(shape, parameters + layer.b, v.z.data());
    double *f[4] = {};
    for (int k = 0; k <= order + 1; ++k) {
      v.f[k].resize(static_cast<long>(n) * layer.out);
      f[k] = v.f[k].data();
    }
    kernels::activation_jet(layer.activation, static_cast<long>(n) * layer.out, order + 1,
                            v.z.data(), f);
    kernels::dense_value(shape, v.z.data(), f, layer.has_idt ? parameters + layer.idt : nullptr,
                         v.x.data(), ws.y.data());
  }
  return ws.y.data();
}

const double *Mlp::reverse(const double *parameters, int n, int order, const double *g_y,
                           MlpWorkspace &ws, double *gradient) const
{
  const long rows = static_cast<long>(order + 1) * n;
  ws.g_y.assign(g_y, g_y + rows * outputs());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer &layer = layers_[l];
    auto &v = ws.layers[l];
    ws.g_z.resize(rows * layer.out);
    ws.g_x.resize(rows * layer.in);
    const bool idt_gradient = gradient && layer.has_idt;
    if (idt_gradient) ws.idt_terms.resize(static_cast<long>(n) * layer.out);
    const double *f[4] = {v.f[0].data(), v.f[1].data(), v.f[2].data(), v.f[3].data()};
    kernels::dense_reverse(dense_shape(layer, n, order), v.z.data(), f,
                           layer.has_idt ? parameters + layer.idt : nullptr, ws.g_y.data(),
                           ws.g_z.data(), ws.g_x.data(),
                           idt_gradient ? ws.idt_terms.data() : nullptr);
    const auto g_z = matrix(ws.g_z.data(), rows, layer.out);
    if (gradient) {
      auto g_w = matrix(gradient + layer.w, layer.in, layer.out);
      g_w.addmm_(matrix(v.x.data(), rows, layer.in).t(), g_z);
      add_column_sums(ws.g_z.data(), n, layer.out, gradient + layer.b);
      if (idt_gradient) add_column_sums(ws.idt_terms.data(), n, layer.out, gradient + layer.idt);
    }
    auto g_x = matrix(ws.g_x.data(), rows, layer.in);
    g_x.addmm_(g_z, matrix(parameters + layer.w, layer.in, layer.out).t());
    ws.g_y.swap(ws.g_x);
  }
  return ws.g_y.data();
}

}  // namespace dptrain
