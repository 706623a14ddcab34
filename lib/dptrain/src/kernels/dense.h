#pragma once

namespace dptrain::kernels {

// The elementwise half of a network layer y = idt * f(z) (+ x | + [x, x]), z = x W, for Taylor jets of order 0, 1 or 2:
// x, z, y hold order + 1 blocks of [n][width]: value, first and second derivative along one direction (unscaled).
// The matrix products are done by the caller. f[k] are derivatives of the activation at z + bias, [n][out].

struct DenseShape {
  int n, in, out, order;
  int skip;  ///< 0 none, 1: out == in, 2: out == 2 in
};

/// y from z, f and x: t0 = f0, t1 = f1 z1, t2 = f1 z2 + f2 z1^2; y = idt t + skip(x). idt may be null.
void dense_value(const DenseShape &shape, const double *z, const double *const f[4],
                 const double *idt, const double *x, double *y);

/// Reverse: g_z from g_y; g_x is set to the part through the skip connection. When idt_terms is given it gets
/// sum_k g_y_k t_k, [n][out], whose column sums are the gradient of idt.
void dense_reverse(const DenseShape &shape, const double *z, const double *const f[4],
                   const double *idt, const double *g_y, double *g_z, double *g_x,
                   double *idt_terms);

/// sums [columns] += column sums of values [rows][columns].
template <class Real> void add_column_sums(const Real *values, int rows, int columns, double *sums);

}  // namespace dptrain::kernels
