#pragma once

namespace dptrain::kernels {

// Products of rows over channels: D_ma = sum_c T_cm T_ca, m all channels, a the first `axis` of them, c the rows. The number
// of rows is a template argument; the library has 4 (gram_kernels.h is for others).

/// Shapes: T is [centers][rows][width], D is [centers][channels][axis] with channels <= width.
struct GramShape {
  int centers, width, channels, axis;
};

/// Value: D from T.
template <int rows, class Real> void gram_value(const GramShape &shape, const Real *t, Real *d);
/// JVP: tangent of D along t_dot.
template <int rows, class Real>
void gram_jvp(const GramShape &shape, const Real *t, const Real *t_dot, Real *d_dot);
/// Reverse: g_t = dE/dT from g_d = dE/dD. Padding channels of g_t become zero.
template <int rows, class Real>
void gram_reverse(const GramShape &shape, const Real *t, const Real *g_d, Real *g_t);
/// Reverse of S = c E - E_dot to T: g_t = dS/dT from g_d = dS/dD and e_d = dE/dD = -dS/dD_dot.
template <int rows, class Real>
void gram_jvp_reverse(const GramShape &shape, const Real *t, const Real *t_dot, const Real *g_d,
                      const Real *e_d, Real *g_t);

}  // namespace dptrain::kernels
