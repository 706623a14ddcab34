#pragma once

#include <vector>

#include "kernels/layer.h"
#include "kernels/memory.h"
#include "potential/nets/mlp.h"

namespace dptrain {

/// What a sweep through a fitting net leaves for the next one, for one chunk of centers. In training, arrays that make a
/// gradient by the weights together lie one after the other: one matrix product gives it.
template <class Real> struct FittingState {
  int n = 0;  ///< centers
  bool train = false;
  const Real *seeds = nullptr;  ///< of `reverse`, [n]; null: ones
  std::vector<kernels::Array<Real>>
      x;  ///< [layers + 1] inputs of the layers; first the descriptors, last the
          ///< energies. In training tangents follow the inputs
  std::vector<kernels::Array<Real>> f[3];  ///< [layers] derivatives of the activations
  std::vector<kernels::Array<Real>> g_y;   ///< [layers + 1] dE/dx; first dE/dD
  std::vector<kernels::Array<Real>>
      g_z;  ///< [layers] dE/dz; in training minus their tangents stand before them
  std::size_t memory_bytes() const;
};

/// The fitting net of one center type for blocks of atoms: energies, their derivatives, and the parameter gradient of
/// S = sum_i c_i E_i - E_dot, E_dot the tangent of the energy along descriptor tangents. The gradient uses what the first
/// two sweeps left, so that it costs four matrix products per layer instead of six.
template <class Real> class FittingNet {
 public:
  explicit FittingNet(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  const std::vector<Layer> &layers() const { return layers_; }
  int inputs() const { return layers_.front().in; }
  /// Inputs of the last layer.
  int num_features() const { return layers_.back().in; }

  /// Where the caller puts the descriptors [n][inputs] before `forward`. With `train`, what `gradient` needs is kept.
  Real *descriptors(int n, bool train, FittingState<Real> &state) const;
  /// Energies [n].
  const Real *forward(const Real *parameters, FittingState<Real> &state) const;
  /// dE/dD [n][inputs] of E = sum_i seeds_i E_i; seeds [n], which `gradient` reads too; null: ones.
  const Real *reverse(const Real *parameters, const Real *seeds, FittingState<Real> &state);
  /// Outputs of the last hidden layer [n][num_features], after `forward`.
  const Real *features(const FittingState<Real> &state) const
  {
    return state.x[layers_.size() - 1].data();
  }
  /// Where the caller puts the tangents of the descriptors [n][inputs] before `gradient`, which overwrites them.
  Real *descriptor_tangents(FittingState<Real> &state) const
  {
    return state.x[0].data() + static_cast<long>(state.n) * inputs();
  }
  /// E_dot_i [n] of these tangents.
  const kernels::Array<Real> &tangents(const Real *parameters, FittingState<Real> &state);
  /// dS/dparameters into gradient (flat buffer), or added to it, for weights c [n]; with seeds, of
  /// S = sum_i seeds_i (c_i E_i - E_dot_i). Returns dS/dD [n][inputs]; dS/dD_dot is minus dE/dD of `reverse`.
  const Real *gradient(const Real *parameters, const Real *c, FittingState<Real> &state, bool add,
                       Real *gradient);

  std::size_t memory_bytes() const;
  void release_workspace();

 private:
  kernels::LayerShape<Real> shape(const Layer &layer, int n, const Real *parameters) const
  {
    return {n, layer.in, layer.out, layer.skip, layer.has_idt ? parameters + layer.idt : nullptr};
  }

  std::vector<Layer> layers_;
  kernels::Array<Real> ones_;
  std::vector<kernels::Array<Real>> z_dot_;  // [layers]
  kernels::Array<Real> g_dot_[2];
};

}  // namespace dptrain
