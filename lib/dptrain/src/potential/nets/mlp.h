#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/activation.h"
#include "kernels/dense.h"
#include "kernels/memory.h"

namespace dptrain {

/// One layer y = idt * act(x W + b) (+ x | + [x, x]) and where its parameters stand in the flat buffer.
struct Layer {
  int in = 0, out = 0;
  kernels::Activation activation;
  bool has_idt = false;
  int skip = 0;                       ///< 0 none, 1: out == in, 2: out == 2 in
  std::size_t w = 0, b = 0, idt = 0;  ///< offsets; w is [in][out]
};

/// Intermediate values of one pass through an Mlp; storage is kept between passes.
struct MlpWorkspace {
  struct LayerValues {
    kernels::Array<double> x, z, f[4];
  };
  std::vector<LayerValues> layers;
  kernels::Array<double> y, g_y, g_z, g_x, idt_terms;
  std::size_t memory_bytes() const;
};

/// A multilayer perceptron for Taylor jets: the inputs are n rows of a value and, for order 1 or 2, of its first and second
/// derivative along one direction; so are the outputs. Order 0 is the plain net, order 2 what a quintic Hermite knot
/// needs. In float64; all pointers in the memory of the kernels.
class Mlp {
 public:
  Mlp() = default;
  explicit Mlp(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  const std::vector<Layer> &layers() const { return layers_; }
  int inputs() const { return layers_.front().in; }
  int outputs() const { return layers_.back().out; }

  /// x [order + 1][n][inputs] -> pointer to [order + 1][n][outputs], valid until the next pass with this workspace.
  const double *forward(const double *parameters, int n, int order, const double *x,
                        MlpWorkspace &workspace) const;

  /// Reverse of the last forward pass with this workspace: g_y [order + 1][n][outputs] adds to gradient (flat buffer).
  void reverse(const double *parameters, int n, int order, const double *g_y,
               MlpWorkspace &workspace, double *gradient) const;

 private:
  std::vector<Layer> layers_;
};

}  // namespace dptrain
