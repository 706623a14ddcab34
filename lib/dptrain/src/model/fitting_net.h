#pragma once

#include <vector>

#include "kernels/layer.h"
#include "kernels/memory.h"
#include "model/mlp.h"

namespace dptrain {

/// What a sweep through a fitting net leaves for the next one, for one chunk of centres.
template <class Real> struct FittingState {
  std::vector<kernels::Array<Real>> x;    ///< [layers + 1] inputs of the layers; first the descriptors, last the energies
  std::vector<kernels::Array<Real>> f[3]; ///< [layers] derivatives of the activations
  std::vector<kernels::Array<Real>> g_y;  ///< [layers + 1] dE/dx; first dE/dD
  std::vector<kernels::Array<Real>> g_z;  ///< [layers] dE/dz
  std::size_t memory_bytes() const;
};

/// The fitting net of one centre type for blocks of atoms: energies, their derivatives, and the parameter gradient of
/// S = sum_i c_i E_i - E_dot, E_dot the tangent of the energy along descriptor tangents. The gradient uses what the first
/// two sweeps left, so that it costs four matrix products per layer instead of six.
template <class Real> class FittingNet {
 public:
  explicit FittingNet(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  int inputs() const { return layers_.front().in; }

  /// Where the caller puts the descriptors [n][inputs] before `forward`.
  Real *descriptors(int n, FittingState<Real> &state) const;
  /// Energies [n]. With `train`, second derivatives of the activations are kept for `gradient`.
  const Real *forward(const Real *parameters, int n, bool train, FittingState<Real> &state) const;
  /// dE/dD [n][inputs].
  const Real *reverse(const Real *parameters, int n, FittingState<Real> &state);
  /// Adds dS/dparameters to gradient (flat buffer) for weights c [n] and tangents d_dot [n][inputs], which are
  /// overwritten. Returns dS/dD [n][inputs]; dS/dD_dot is minus dE/dD of `reverse`.
  const Real *gradient(const Real *parameters, int n, const Real *c, kernels::Array<Real> &d_dot,
                       const FittingState<Real> &state, Real *gradient);

  std::size_t memory_bytes() const;

 private:
  kernels::LayerShape<Real> shape(const Layer &layer, int n, const Real *parameters) const
  {
    return {n, layer.in, layer.out, layer.skip, layer.has_idt ? parameters + layer.idt : nullptr};
  }
  void tangents(const Real *parameters, int n, kernels::Array<Real> &d_dot,
                const FittingState<Real> &state);

  std::vector<Layer> layers_;
  kernels::Array<Real> ones_;
  std::vector<kernels::Array<Real>> x_dot_, z_dot_;  // [layers]; x_dot_[0] is the caller's
  kernels::Array<Real> minus_g_z_dot_, g_dot_[2];
};

}  // namespace dptrain
