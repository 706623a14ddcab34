#pragma once

#include "kernels/lanes.h"
#include "kernels/limits.h"
#include "kernels/sine_and_cosine.h"

namespace dptrain::kernels {

/// How large function k of a radial basis is: 1 / (1 + (2 A k / rcut)^2), the same for the same wavelength with any cutoff. Functions
/// that vary fast are small, so that what is learned of them is little unless the data ask for it.
inline double basis_amplitude(int k, double rcut)
{
  constexpr double slow = 2.0;  // Angstrom
  const double x = slow * k / rcut;
  return 1.0 / (1.0 + x * x);
}

/// What radial functions see of a distance r: r itself down to `near`, and below that ever less, down to 0.95 of it. So a net does
/// not change any more where it has not been trained, and a repulsion decides. Twice continuously differentiable.
template <class Real, class L> struct SeenDistance {
  L s, inv_s, slope;  ///< Angstrom; 1/s; ds/dr

  KOKKOS_FORCEINLINE_FUNCTION SeenDistance(L r, L inv_r, Real near) : s(r), inv_s(inv_r)
  {
    const L zero = {}, one = zero + Real(1);
    slope = one;
    if (!any_below<Real>(r, near)) return;
    constexpr Real width = Real(0.1);  // of `near`
    const Real range = width * near;
    L t = (near - r) * (Real(1) / range);
    t = t < zero ? zero : t;
    t = t > one ? one : t;
    const L t2 = t * t, t3 = t2 * t;
    s = r < near ? near - range * (t - t3 * (t3 - Real(3) * t2 + Real(2.5) * t)) : r;
    inv_s = Real(1) / s;
    slope = one - t3 * (Real(6) * t2 - Real(15) * t + Real(10));
  }
};

/// Functions of a distance that vanish smoothly at the cutoff, for k < size:
///   b_k(r) = a_k sqrt(2 / rcut) sin((k + 1) pi r / rcut) / r * w(r),
/// the Bessel functions of zeroth order (Kocer et al., J. Chem. Phys. 150, 154102 (2019)) times DeePMD-kit's switch function
/// w = 1 + u^3 (-6 u^2 + 15 u - 10), u = clip((r - rcut_smth) / (rcut - rcut_smth), 0, 1). a_k is basis_amplitude, with `scale`
/// as the root of the mean square.
template <class Real> struct RadialBasis {
  int size = 0;
  Real rcut = 1, rcut_smth = 0, inv_range = 1;  ///< Angstrom
  Real angle = 1;                               ///< pi / rcut
  Real factor[most_functions] = {};             ///< a_k sqrt(2 / rcut)

  RadialBasis() = default;
  RadialBasis(int functions, double cutoff, double smth, double scale) :
      size(functions),
      rcut(Real(cutoff)),
      rcut_smth(Real(smth)),
      inv_range(Real(1.0 / (cutoff - smth))),
      angle(Real(pi / cutoff))
  {
    double squares = 0.0;
    for (int k = 0; k < size; ++k)
      squares += basis_amplitude(k, cutoff) * basis_amplitude(k, cutoff);
    const double norm = scale * std::sqrt(2.0 / cutoff * size / squares);
    for (int k = 0; k < size; ++k) factor[k] = Real(norm * basis_amplitude(k, cutoff));
  }

  /// put(k, b_k, db_k/dr) for all k in order; the same for all types of neighbors.
  template <class L, class Put>
  KOKKOS_FORCEINLINE_FUNCTION void evaluate(int /*type*/, L r, L inv_r, const Put &put) const
  {
    const L zero = {}, one = zero + Real(1);
    L u = (r - rcut_smth) * inv_range;
    u = u < zero ? zero : u;
    u = u > one ? one : u;
    const L u2 = u * u, v = u - one;
    const L w = u2 * u * (Real(-6) * u2 + Real(15) * u - Real(10)) + one;
    const L dw = Real(-30) * u2 * v * v * inv_range;
    // f = w / r and its derivative
    const L f = inv_r * w, df = inv_r * (dw - f), wave = f * angle;
    // sin and cos of (k + 1) x by their recurrence; x = y + pi / 2
    const L y = angle * r - Real(pi / 2);
    L sine, cosine;
    sine_and_cosine<Real>(y, sine, cosine);
    const L twice = cosine + cosine;
    L s = sine, c = cosine, s_before = zero, c_before = one;
    for (int k = 0; k < size; ++k) {
      put(k, factor[k] * (s * f), factor[k] * (s * df + Real(k + 1) * c * wave));
      const L s_next = twice * s - s_before, c_next = twice * c - c_before;
      s_before = s;
      c_before = c;
      s = s_next;
      c = c_next;
    }
  }

 private:
  static constexpr double pi = 3.14159265358979323846;
};

}  // namespace dptrain::kernels
