#pragma once

#include <memory>
#include <vector>

#include "dptrain/potential/descriptor/power_spectrum_config.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/moments.h"
#include "kernels/spectrum.h"
#include "potential/descriptor/descriptor.h"
#include "potential/descriptor/expansion.h"

namespace dptrain {

/// Power spectrum of the density of the neighbors. For a center i of type a,
///   A_nlm = s sum_j g_n(r_ij) Y_lm(u_ij),  g_n(r) = sum_k c[a][n][b][k] b_k(r) for neighbors of type b,
///   D = (A_n00, p_nql),  p_nql = sum_m A_nlm A_qlm
///     = s^2 sum_jk g_n(r_ij) g_q(r_ik) P_l(cos theta_jik),
/// n < n_max, q < axis_neuron, l <= l_max, k < n_basis; b_k of kernels/radial_basis.h, s a constant.
///
/// The parameters c come last: A = c M, where the moments M of the neighbors (kernels/moments.h) do not depend on them. So the
/// edges are visited for M, for its tangent and for forces; all that concerns c are matrix products, and there is no table.
template <class Real> class PowerSpectrum final : public Descriptor<Real> {
 public:
  explicit PowerSpectrum(const ModelData &data);

  EdgeLimits edge_limits() const override { return limits_; }
  std::size_t bytes_per_center() const override;
  void prepare(const double *parameters) override { expansion_.prepare(parameters); }
  void set_walls(const Walls &walls) override;
  std::size_t workspace_bytes() const override;
  void release_workspace() override;

  std::unique_ptr<DescriptorState<Real>> make_state() const override;
  void value(DescriptorState<Real> &state, Real *d) override;
  void reverse(DescriptorState<Real> &state, const Real *g_d,
               const kernels::ForceSums *sums) override;
  void begin_gradient(bool /*direct*/, double *gradient) override
  {
    expansion_.begin_gradient(gradient);
  }
  void jvp(DescriptorState<Real> &state, const Direction &direction, Real *d_dot) override;
  void gradient(DescriptorState<Real> &state, const Direction &direction, const Real *s_d,
                const Real *e_d) override;
  void flush_gradient() override { expansion_.flush_gradient(); }
  void end_gradient() override { flush_gradient(); }

 private:
  struct State;
  kernels::SpectrumShape shape(int centers) const;
  /// Of c for a center type: n_max rows.
  long columns() const { return static_cast<long>(ntypes_) * config_.n_basis; }

  const int ntypes_;
  const PowerSpectrumConfig config_;
  const EdgeLimits limits_;
  const kernels::RadialBasis<Real> basis_;
  kernels::Array<Real> near_;  // [ntypes][ntypes], see kernels::Moments; empty: no walls
  Expansion<Real> expansion_;
  std::vector<typename Expansion<Real>::Matrix> c_;  // by type of the center
  kernels::Array<Real> g_moments_, moments_dot_, a_dot_, s_a_;
};

}  // namespace dptrain
