#include "potential/nets/mlp.h"

#include "kernels/layer.h"
#include "potential/nets/gemm.h"

namespace dptrain {
namespace {

kernels::DenseShape dense_shape(const Layer &layer, int n, int order)
{
  return {n, layer.in, layer.out, order, layer.skip};
}

}  // namespace

std::size_t MlpWorkspace::memory_bytes() const
{
  std::size_t n = y.memory_bytes() + g_y.memory_bytes() + g_z.memory_bytes() + g_x.memory_bytes() +
                  idt_terms.memory_bytes();
  for (const auto &l : layers) {
    n += l.x.memory_bytes() + l.z.memory_bytes();
    for (const auto &f : l.f) n += f.memory_bytes();
  }
  return n;
}

const double *Mlp::forward(const double *parameters, int n, int order, const double *x,
                           MlpWorkspace &ws) const
{
  const long rows = static_cast<long>(order + 1) * n;
  ws.layers.resize(layers_.size());
  ws.layers[0].x.resize(rows * inputs());
  kernels::convert(x, rows * inputs(), ws.layers[0].x.data());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer &layer = layers_[l];
    auto &v = ws.layers[l];
    auto &y = l + 1 < layers_.size() ? ws.layers[l + 1].x : ws.y;
    v.z.resize(rows * layer.out);
    y.resize(rows * layer.out);
    gemm(false, false, rows, layer.out, layer.in, 1.0, v.x.data(), parameters + layer.w, 0.0,
         v.z.data());
    double *f[4] = {};
    for (int k = 0; k <= order + 1; ++k) f[k] = v.f[k].resize(static_cast<long>(n) * layer.out);
    kernels::activation_jet(layer.activation, n, layer.out, order + 1, v.z.data(),
                            parameters + layer.b, f);
    kernels::dense_value(dense_shape(layer, n, order), v.z.data(), f,
                         layer.has_idt ? parameters + layer.idt : nullptr, v.x.data(), y.data());
  }
  return ws.y.data();
}

void Mlp::reverse(const double *parameters, int n, int order, const double *g_y, MlpWorkspace &ws,
                  double *gradient) const
{
  const long rows = static_cast<long>(order + 1) * n;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer &layer = layers_[l];
    auto &v = ws.layers[l];
    ws.g_z.resize(rows * layer.out);
    ws.g_x.resize(rows * layer.in);
    ws.idt_terms.resize(layer.has_idt ? static_cast<long>(n) * layer.out : 0);
    const double *f[4] = {v.f[0].data(), v.f[1].data(), v.f[2].data(), v.f[3].data()};
    kernels::dense_reverse(dense_shape(layer, n, order), v.z.data(), f,
                           layer.has_idt ? parameters + layer.idt : nullptr, g_y, ws.g_z.data(),
                           ws.g_x.data(), layer.has_idt ? ws.idt_terms.data() : nullptr);
    gemm(true, false, layer.in, layer.out, rows, 1.0, v.x.data(), ws.g_z.data(), 1.0,
         gradient + layer.w);
    kernels::add_column_sums(ws.g_z.data(), n, layer.out, gradient + layer.b);
    if (layer.has_idt)
      kernels::add_column_sums(ws.idt_terms.data(), n, layer.out, gradient + layer.idt);
    if (l == 0) break;  // nobody asks for the derivative by the argument
    gemm(false, true, rows, layer.in, layer.out, 1.0, ws.g_z.data(), parameters + layer.w, 1.0,
         ws.g_x.data());
    ws.g_y.swap(ws.g_x);
    g_y = ws.g_y.data();
  }
}

}  // namespace dptrain
