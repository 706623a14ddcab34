#pragma once

#include <cmath>

#include "kernels/kokkos_types.h"

// The environment matrix of DeePMD-kit's se_e2_a, one edge at a time: value, derivative, tangent. Kernels call these for
// vectors of edges.

namespace dptrain::kernels {

/// Constants of one center type. With s = w/(r + p), q = w/(r + p)^2, w the switch function
/// 1 + u^3 (-6 u^2 + 15 u - 10), u = clip((r - rcut_smth) / (rcut - rcut_smth), 0, 1), the row of an edge is
/// ((s - davg) / dstd_radial, q d / dstd_angular), and its first element is the argument of the embedding net.
template <class Real> struct Environment {
  Real rcut_smth = 0, inv_range = 1;  ///< Angstrom; 1 / (rcut - rcut_smth)
  Real protection = 0;                ///< p, Angstrom
  Real davg = 0, inv_radial = 1, inv_angular = 1;

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
};

/// arg: argument of the net and first element of the row; q: the other three are q d. darg, dq: derivatives by r.
template <class Real> struct EdgeValue {
  Real arg, q, darg, dq, inv_r;
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

/// s(r) of the definition above in float64.
inline double radial_switch(double r, double rcut, double rcut_smth, double protection)
{
  const Environment<double> p(rcut, rcut_smth, protection, 0.0, 1.0, 1.0);
  return edge_value(p, r * r).arg;
}

}  // namespace dptrain::kernels
