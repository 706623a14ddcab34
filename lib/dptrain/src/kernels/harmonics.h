#pragma once

#include "kernels/kokkos_types.h"

// Real spherical harmonics of unit vectors, normalized so that sum_m Y_lm(u) Y_lm(v) = P_l(u.v): number l^2 + l + m is
//   Y_l0 = P_l(z),  Y_lm = N_lm Pi_lm(z) Re (x + iy)^m,  Y_l-m = N_lm Pi_lm(z) Im (x + iy)^m,
// Pi_lm the m-th derivative of the Legendre polynomial P_l and N_lm = sqrt(2 (l - m)! / (l + m)!). As polynomials of x, y and
// z they have derivatives by each; those along a sphere are what counts.

namespace dptrain::kernels {

/// How many harmonics there are up to l.
KOKKOS_FORCEINLINE_FUNCTION constexpr int num_harmonics(int l)
{
  return (l + 1) * (l + 1);
}

namespace detail {

KOKKOS_FORCEINLINE_FUNCTION constexpr double square_root(double x)
{
  double root = x > 1.0 ? x : 1.0;
  for (int k = 0; k < 64; ++k) root = 0.5 * (root + x / root);
  return root;
}

/// N_lm
KOKKOS_FORCEINLINE_FUNCTION constexpr double norm(int l, int m)
{
  double ratio = m > 0 ? 2.0 : 1.0;
  for (int k = l - m + 1; k <= l + m; ++k) ratio /= k;
  return square_root(ratio);
}

/// Constants of the recurrences of p_lm = N_lm Pi_lm: p_mm = start(m), p_lm = up(l, m) z p_l-1,m - down(l, m) p_l-2,m, and of
/// the derivative p'_lm = slope(l, m) p_l,m+1.
KOKKOS_FORCEINLINE_FUNCTION constexpr double start(int m)
{
  double value = norm(m, m);
  for (int k = 1; k <= m; ++k) value *= 2 * k - 1;
  return value;
}
KOKKOS_FORCEINLINE_FUNCTION constexpr double up(int l, int m)
{
  return (2.0 * l - 1.0) / (l - m) * norm(l, m) / norm(l - 1, m);
}
KOKKOS_FORCEINLINE_FUNCTION constexpr double down(int l, int m)
{
  return (l + m - 1.0) / (l - m) * norm(l, m) / norm(l - 2, m);
}
KOKKOS_FORCEINLINE_FUNCTION constexpr double slope(int l, int m)
{
  return norm(l, m) / norm(l, m + 1);
}

/// A loop over numbers from `begin` to `end` that the compiler has to unroll.
template <int begin, int end, class F> KOKKOS_FORCEINLINE_FUNCTION void each(const F &f)
{
  if constexpr (begin <= end)
    unrolled<end - begin + 1>(
        [&](auto k) DPTRAIN_ALWAYS_INLINE { f(Constant<begin + decltype(k)::value>()); });
}

}  // namespace detail

/// The harmonics up to l_max at (x, y, z), a number or several (Lanes).
template <int l_max, class Real, class L> class Harmonics {
 public:
  static constexpr int number = num_harmonics(l_max);

  KOKKOS_FORCEINLINE_FUNCTION Harmonics(L x, L y, L z)
  {
    const L zero = {};
    c_[0] = zero + Real(1);
    s_[0] = zero;
    detail::each<1, l_max>([&](auto m) DPTRAIN_ALWAYS_INLINE {
      c_[m] = x * c_[m - 1] - y * s_[m - 1];
      s_[m] = x * s_[m - 1] + y * c_[m - 1];
    });
    detail::each<0, l_max>([&](auto order) DPTRAIN_ALWAYS_INLINE {
      constexpr int m = decltype(order)::value;
      constexpr Real start = Real(detail::start(m));
      p_[at(m, m)] = zero + start;
      detail::each<m + 1, l_max>([&](auto degree) DPTRAIN_ALWAYS_INLINE {
        constexpr int l = decltype(degree)::value;
        constexpr Real up = Real(detail::up(l, m));
        p_[at(l, m)] = up * z * p_[at(l - 1, m)];
        if constexpr (l > m + 1) {
          constexpr Real down = Real(detail::down(l, m));
          p_[at(l, m)] -= down * p_[at(l - 2, m)];
        }
      });
    });
  }

  /// put(number, Y)
  template <class Put> KOKKOS_FORCEINLINE_FUNCTION void values(const Put &put) const
  {
    for_all([&](auto degree, auto order) DPTRAIN_ALWAYS_INLINE {
      constexpr int l = decltype(degree)::value, m = decltype(order)::value, center = l * l + l;
      put(Constant<center + m>(), p_[at(l, m)] * c_[m]);
      if constexpr (m > 0) put(Constant<center - m>(), p_[at(l, m)] * s_[m]);
    });
  }

  /// put(number, tangent of Y) where (x, y, z) moves along (dx, dy, dz).
  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION void tangents(L dx, L dy, L dz, const Put &put) const
  {
    for_all([&](auto degree, auto order) DPTRAIN_ALWAYS_INLINE {
      constexpr int l = decltype(degree)::value, m = decltype(order)::value, center = l * l + l;
      const L dp = slope<l, m>() * dz;
      if constexpr (m == 0) {
        put(Constant<center>(), dp);
      } else {
        const L p = Real(m) * p_[at(l, m)];
        put(Constant<center + m>(), dp * c_[m] + p * (c_[m - 1] * dx - s_[m - 1] * dy));
        put(Constant<center - m>(), dp * s_[m] + p * (s_[m - 1] * dx + c_[m - 1] * dy));
      }
    });
  }

  /// The gradient of sum_k h[k] Y_k by x, y and z.
  KOKKOS_FORCEINLINE_FUNCTION void gradient(const L (&h)[number], L (&g)[3]) const
  {
    const L zero = {};
    g[0] = g[1] = g[2] = zero;
    detail::each<0, l_max>([&](auto order) DPTRAIN_ALWAYS_INLINE {
      constexpr int m = decltype(order)::value;
      L c = zero, s = zero, dc = zero, ds = zero;  // sums over l, and those of derivatives by z
      detail::each<m, l_max>([&](auto degree) DPTRAIN_ALWAYS_INLINE {
        constexpr int l = decltype(degree)::value, center = l * l + l;
        const L p = p_[at(l, m)], dp = slope<l, m>();
        c += p * h[center + m];
        dc += dp * h[center + m];
        if constexpr (m > 0) {
          s += p * h[center - m];
          ds += dp * h[center - m];
        }
      });
      g[2] += dc * c_[m] + ds * s_[m];
      if constexpr (m > 0) {
        g[0] += Real(m) * (c * c_[m - 1] + s * s_[m - 1]);
        g[1] += Real(m) * (s * c_[m - 1] - c * s_[m - 1]);
      }
    });
  }

 private:
  static KOKKOS_FORCEINLINE_FUNCTION constexpr int at(int l, int m) { return l * (l + 1) / 2 + m; }
  template <class F> static KOKKOS_FORCEINLINE_FUNCTION void for_all(const F &f)
  {
    detail::each<0, l_max>([&](auto l) DPTRAIN_ALWAYS_INLINE {
      detail::each<0, decltype(l)::value>([&](auto m) DPTRAIN_ALWAYS_INLINE { f(l, m); });
    });
  }
  /// Derivative of p_lm by z.
  template <int l, int m> KOKKOS_FORCEINLINE_FUNCTION L slope() const
  {
    if constexpr (m < l) {
      constexpr Real factor = Real(detail::slope(l, m));
      return factor * p_[at(l, m + 1)];
    } else {
      return L{};
    }
  }

  L c_[l_max + 1], s_[l_max + 1];       // (x + iy)^m
  L p_[(l_max + 1) * (l_max + 2) / 2];  // N_lm Pi_lm(z)
};

}  // namespace dptrain::kernels
