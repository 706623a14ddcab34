#pragma once

#include <cmath>

#include "kernels/kokkos_types.h"

// The environment matrix of DeePMD-kit's se_e2_a, one edge at a time: value, derivative, tangent. Kernels call these for
// vectors of edges (contraction.h says what they ask of rows).

namespace dptrain::kernels {

/// arg: argument of the net and first element of the row; q: the other three are q d. darg, dq: derivatives by r.
template <class Real> struct EdgeValue {
  Real arg, q, darg, dq, inv_r;
};

/// Constants of one center type. With s = w/(r + p), q = w/(r + p)^2, w the switch function
/// 1 + u^3 (-6 u^2 + 15 u - 10), u = clip((r - rcut_smth) / (rcut - rcut_smth), 0, 1), the row of an edge is
/// ((s - davg) / dstd_radial, q d / dstd_angular), and its first element is the argument of the embedding net.
template <class Real> struct Environment {
  Real rcut_smth = 0, inv_range = 1;  ///< Angstrom; 1 / (rcut - rcut_smth)
  Real protection = 0;                ///< p, Angstrom
  Real davg = 0, inv_radial = 1, inv_angular = 1;

  static constexpr int rows = 4, kept = 4;
  static constexpr bool argument_is_first = true;

  Environment() = default;
  Environment(double rcut, double smth, double protect, double avg, double radial, double angular) :
      rcut_smth(Real(smth)),
      inv_range(Real(1.0 / (rcut - smth))),
      protection(Real(protect)),
      davg(Real(avg)),
      inv_radial(Real(1.0 / radial)),
      inv_angular(Real(1.0 / angular))
  {
  }

  KOKKOS_FORCEINLINE_FUNCTION EdgeValue<Real> value(Real x, Real y, Real z) const;

  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION void put_row(const EdgeValue<Real> &v, Real scale, Real x, Real y,
                                           Real z, const Put &put) const
  {
    put(0, scale * v.arg);
    put(1, scale * v.q * x);
    put(2, scale * v.q * y);
    put(3, scale * v.q * z);
  }

  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION Real put_tangent(const EdgeValue<Real> &v, Real scale, Real x, Real y,
                                               Real z, const Real (&u)[3], const Put &put) const
  {
    const Real r_dot = (x * u[0] + y * u[1] + z * u[2]) * v.inv_r;
    const Real q_dot = v.dq * r_dot, arg_dot = v.darg * r_dot;
    put(0, scale * arg_dot);
    put(1, scale * (q_dot * x + v.q * u[0]));
    put(2, scale * (q_dot * y + v.q * u[1]));
    put(3, scale * (q_dot * z + v.q * u[2]));
    return arg_dot;
  }

  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION void put_kept(const EdgeValue<Real> &v, const Put &put) const
  {
    put(0, v.q);
    put(1, v.dq);
    put(2, v.darg);
    put(3, v.inv_r);
  }

  template <class Kept, class Sum>
  KOKKOS_FORCEINLINE_FUNCTION void gradient(const Kept &kept, const Sum &sum, Real scale, Real x,
                                            Real y, Real z, Real (&g)[3]) const
  {
    const Real b1 = scale * sum(1), b2 = scale * sum(2), b3 = scale * sum(3);
    const Real along = kept(2) * sum(0) + kept(1) * (b1 * x + b2 * y + b3 * z);
    const Real radial = along * kept(3), q = kept(0);
    g[0] = radial * x + q * b1;
    g[1] = radial * y + q * b2;
    g[2] = radial * z + q * b3;
  }
};

/// From the squared length of an edge.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION EdgeValue<Real> edge_value(const Environment<Real> &p,
                                                       Real length_squared)
{
  const Real r = std::sqrt(length_squared);
  Real u = (r - p.rcut_smth) * p.inv_range;
  u = u < Real(0) ? Real(0) : (u > Real(1) ? Real(1) : u);
  const Real u2 = u * u, v = u - Real(1);
  const Real w = u2 * u * (Real(-6) * u2 + Real(15) * u - Real(10)) + Real(1);
  // vanishes at u = 0 and u = 1, so the clip needs no branch
  const Real dw = Real(-30) * u2 * v * v * p.inv_range;
  const Real inv = Real(1) / (r + p.protection);
  const Real s = w * inv, q = s * inv;
  EdgeValue<Real> e;
  e.inv_r = Real(1) / r;
  e.arg = (s - p.davg) * p.inv_radial;
  e.darg = (dw * inv - q) * p.inv_radial;
  e.q = q * p.inv_angular;
  e.dq = (dw * inv - Real(2) * q) * inv * p.inv_angular;
  return e;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION EdgeValue<Real> edge_value(const Environment<Real> &p, Real x, Real y,
                                                       Real z)
{
  return edge_value(p, x * x + y * y + z * z);
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION EdgeValue<Real> Environment<Real>::value(Real x, Real y, Real z) const
{
  return edge_value(*this, x, y, z);
}

}  // namespace dptrain::kernels
