#pragma once

#include <memory>
#include <vector>

#include "dptrain/potential/descriptor/nep_config.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/nep_moments.h"
#include "kernels/nep_spectrum.h"
#include "potential/descriptor/descriptor.h"
#include "potential/descriptor/expansion.h"

namespace dptrain {

/// Descriptor of neuroevolution potentials (Z. Fan et al., J. Chem. Phys. 157, 114801 (2022), and GPUMD since). For a center i of type a,
///   A_n = sum_j g_n(r_ij),  A_nlm = sum_j h_n(r_ij) Y_lm(u_ij),
///   g_n(r) = sum_k c[a][n][b][k] f_k(r) for neighbors of type b, and h_n the same with coefficients and cutoffs of its own,
/// f_k of kernels/chebyshev_basis.h with the mean of the cutoffs of the two elements, and D of kernels/nep_spectrum.h, whose scale is the
/// constant `scaler`.
///
/// As those of PowerSpectrum the coefficients come last: A = c M, with moments M of the neighbors.
template <class Real> class Nep final : public Descriptor<Real> {
 public:
  explicit Nep(const ModelData &data);

  EdgeLimits edge_limits() const override { return limits_; }
  std::size_t bytes_per_center() const override;
  void prepare(const double *parameters) override { expansion_.prepare(parameters); }
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
  // The radial, or the angular coefficients A and all that belongs to them.
  struct Part {
    int channels = 0, functions = 0, l_max = 0;
    std::vector<typename Expansion<Real>::Matrix> c;  // by type of the center
    kernels::Array<Real> cutoffs;                     // [ntypes][ntypes] Angstrom
    kernels::Array<Real> g_moments, moments_dot, a_dot, s_a;
    long columns(int ntypes) const { return static_cast<long>(ntypes) * functions; }
    long vectors(int centers) const;
  };
  struct State;
  struct StateOfPart {
    kernels::Array<Real> moments, a, g_a;
    std::size_t memory_bytes() const
    {
      return moments.memory_bytes() + a.memory_bytes() + g_a.memory_bytes();
    }
  };

  kernels::NepShape<Real> shape(int centers) const;
  kernels::ChebyshevBasis<Real> basis(const Part &part, int type) const;

  const int ntypes_;
  const NepConfig config_;
  const EdgeLimits limits_;
  Expansion<Real> expansion_;
  Part radial_, angular_;
  kernels::Array<Real> near_squared_;  // [ntypes][ntypes] of the angular cutoffs
  kernels::Array<kernels::ThreeFold<Real>> products_;
  int quartic_block_ = -1;
  kernels::Array<Real> scale_;
};

}  // namespace dptrain
