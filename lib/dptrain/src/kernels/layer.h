#pragma once

#include "kernels/activation.h"

namespace dptrain::kernels {

// The elementwise half of a fitting-net layer y = idt * f(z) (+ x | + [x, x]), z = x W + b, in the four sweeps of training.
// Matrix products are done by the caller. Arrays are [n][in] or [n][out]; f0, f1, f2 are derivatives of the activation.

template <class Real> struct LayerShape {
  int n, in, out;
  int skip;         ///< 0 none, 1: out == in, 2: out == 2 in
  const Real *idt;  ///< [out] or null
};

/// Value: y from x and from the products x W in f0, which become the activation at z = x W + bias. f1 and, unless it is null, f2
/// get its derivatives.
template <class Real>
void layer_value(const LayerShape<Real> &s, const Activation &activation, const Real *bias,
                 const Real *x, Real *f0, Real *f1, Real *f2, Real *y);

/// Adjoint: g_z from g_y; g_x gets the part through the skip connection (only where there is one).
template <class Real>
void layer_reverse(const LayerShape<Real> &s, const Real *f1, const Real *g_y, Real *g_z,
                   Real *g_x);

/// Tangent: y_dot from z_dot = x_dot W and x_dot.
template <class Real>
void layer_tangent(const LayerShape<Real> &s, const Real *f1, const Real *z_dot, const Real *x_dot,
                   Real *y_dot);

/// Tangent of the adjoint: minus g_z_dot from g_y, g_y_dot, z_dot; g_x_dot gets the part through the skip connection.
/// g_y_dot may be null (zero). x_dot becomes c_i x - x_dot, the left side of the weight gradient, for weights c [n] of the energies.
template <class Real>
void layer_reverse_tangent(const LayerShape<Real> &s, const Real *f1, const Real *f2,
                           const Real *z_dot, const Real *g_y, const Real *g_y_dot, const Real *c,
                           const Real *x, Real *x_dot, Real *minus_g_z_dot, Real *g_x_dot);

/// Parameter gradient of S = sum_i c_i E_i - E_dot_i: adds to g_bias [out] and (with idt) g_idt [out].
/// c [n] are the weights of the energies.
template <class Real>
void layer_gradient(const LayerShape<Real> &s, const Real *f0, const Real *f1, const Real *z_dot,
                    const Real *g_y, const Real *g_y_dot, const Real *g_z,
                    const Real *minus_g_z_dot, const Real *c, Real *g_bias, Real *g_idt);

/// x_dot = c_i x - x_dot, row by row.
template <class Real>
void scale_and_subtract(int n, long columns, const Real *c, const Real *x, Real *x_dot);

/// Conversion between the precisions of master values and of kernels: target = source.
template <class From, class To> void convert(const From *source, long n, To *target);
/// target += source.
template <class From, class To> void add_converted(const From *source, long n, To *target);

}  // namespace dptrain::kernels
