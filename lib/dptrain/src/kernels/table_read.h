#pragma once

#include "kernels/kokkos_types.h"
#include "kernels/table.h"

namespace dptrain::kernels {

/// How an edge reads six rows of the table: weights of the value G and of its derivative dG/darg. The transpose of the
/// interpolation uses the same numbers.
template <class Real> struct Read {
  int interval;
  Real w[6], dw[6];
};

/// Basis of quintic Hermite interpolation in units of the spacing.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void interpolation_basis(HermiteLayout, Real u, Real inv_h,
                                                     Read<Real> &read)
{
  const Real u2 = u * u, u3 = u2 * u;
  // value of the far knot first: B0 = 1 - B3 holds exactly
  const Real b3 = u3 * (Real(10) + u * (Real(-15) + Real(6) * u));
  read.w[0] = Real(1) - b3;
  read.w[1] = u + u3 * (Real(-6) + u * (Real(8) - Real(3) * u));
  read.w[2] = Real(0.5) * (u2 + u3 * (Real(-3) + u * (Real(3) - u)));
  read.w[3] = b3;
  read.w[4] = u3 * (Real(-4) + u * (Real(7) - Real(3) * u));
  read.w[5] = Real(0.5) * u3 * (Real(1) + u * (Real(-2) + u));
  const Real d3 = Real(30) * u2 * (Real(1) + u * (Real(-2) + u));
  read.dw[0] = -d3 * inv_h;
  read.dw[1] = (Real(1) + u2 * (Real(-18) + u * (Real(32) - Real(15) * u))) * inv_h;
  read.dw[2] = (u + u2 * (Real(-4.5) + u * (Real(6) - Real(2.5) * u))) * inv_h;
  read.dw[3] = d3 * inv_h;
  read.dw[4] = u2 * (Real(-12) + u * (Real(28) - Real(15) * u)) * inv_h;
  read.dw[5] = u2 * (Real(1.5) + u * (Real(-4) + Real(2.5) * u)) * inv_h;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void interpolation_basis(PolynomialLayout, Real u, Real inv_h,
                                                     Read<Real> &read)
{
  const Real u2 = u * u, u3 = u2 * u, u4 = u2 * u2;
  read.w[0] = Real(1);
  read.w[1] = u;
  read.w[2] = u2;
  read.w[3] = u3;
  read.w[4] = u4;
  read.w[5] = u4 * u;
  read.dw[0] = Real(0);
  read.dw[1] = inv_h;
  read.dw[2] = Real(2) * u * inv_h;
  read.dw[3] = Real(3) * u2 * inv_h;
  read.dw[4] = Real(4) * u3 * inv_h;
  read.dw[5] = Real(5) * u4 * inv_h;
}

/// Where the argument reads the table. Arguments outside read the nearest interval: the caller makes sure that the
/// table reaches far enough before results are used.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Read<Real> table_read(const Table<Real> &table, Real arg)
{
  const Real t = (arg - table.origin) * table.inv_spacing;
  int i = static_cast<int>(t);
  const int last = table.intervals - 1;
  i = i < 0 ? 0 : (i > last ? last : i);
  Read<Real> read;
  read.interval = i;
  interpolation_basis(TableLayout<Real>(), t - static_cast<Real>(i), table.inv_spacing, read);
  return read;
}

}  // namespace dptrain::kernels
