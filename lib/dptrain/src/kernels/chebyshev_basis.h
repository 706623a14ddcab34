#pragma once

#include "kernels/lanes.h"
#include "kernels/sine_and_cosine.h"

namespace dptrain::kernels {

/// Functions of a distance that vanish at the cutoff of the type of the neighbor, for k < size:
///   f_k(r) = (T_k(x) + 1) / 2 * (1 + cos(pi r / rcut)) / 2,   x = 2 (r / rcut - 1)^2 - 1,
/// T_k Chebyshev polynomials (Z. Fan et al., J. Chem. Phys. 157, 114801 (2022), equation 6).
template <class Real> struct ChebyshevBasis {
  int size = 0;
  const Real *cutoffs =
      nullptr;    ///< [ntypes] Angstrom, of neighbors of each type; memory of the kernels
  Real rcut = 1;  ///< the largest of them

  /// put(k, f_k, df_k/dr) for all k in order.
  template <class L, class Put>
  KOKKOS_FORCEINLINE_FUNCTION void evaluate(int type, L r, L /*inv_r*/, const Put &put) const
  {
    const L zero = {}, one = zero + Real(1);
    const Real cutoff = cutoffs[type], inv_cutoff = Real(1) / cutoff;
    L part = r * inv_cutoff;
    part = part > one ? one : part;
    L sine, cosine;  // of pi r / rcut
    sine_and_cosine<Real>(Real(pi) * part - Real(pi / 2), sine, cosine);
    L f = Real(0.5) * (one + cosine), df = Real(-pi / 2) * inv_cutoff * sine;
    f = r < cutoff ? f : zero;
    df = r < cutoff ? df : zero;
    const L u = part - one, x = Real(2) * u * u - one, dx = Real(4) * inv_cutoff * u;
    put(0, f, df);
    // T_k of the first and U_k of the second kind, T_k' = k U_k-1
    L t_before = one, t = x, u_before = zero, u_now = one;
    for (int k = 1; k < size; ++k) {
      const L half = Real(0.5) * (t + one);
      put(k, half * f, Real(0.5) * Real(k) * u_now * dx * f + half * df);
      const L t_next = Real(2) * x * t - t_before, u_next = Real(2) * x * u_now - u_before;
      t_before = t;
      u_before = u_now;
      t = t_next;
      u_now = u_next;
    }
  }

 private:
  static constexpr double pi = 3.14159265358979323846;
};

}  // namespace dptrain::kernels
