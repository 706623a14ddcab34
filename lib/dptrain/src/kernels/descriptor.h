#pragma once

namespace dptrain::kernels {

/// Shapes: T is [centers][4][width], D is [centers][channels][axis] with channels <= width; D_ma = sum_c T_cm T_ca.
struct DescriptorShape {
  int centers, width, channels, axis;
};

/// Value: D from T.
template <class Real> void descriptor_value(const DescriptorShape &shape, const Real *t, Real *d);
/// JVP: tangent of D along t_dot.
template <class Real>
void descriptor_jvp(const DescriptorShape &shape, const Real *t, const Real *t_dot, Real *d_dot);
/// Reverse: g_t = dE/dT from g_d = dE/dD. Padding channels of g_t become zero.
template <class Real>
void descriptor_reverse(const DescriptorShape &shape, const Real *t, const Real *g_d, Real *g_t);
/// Reverse of S = c E - E_dot to T: g_t = dS/dT from g_d = dS/dD and e_d = dE/dD = -dS/dD_dot.
template <class Real>
void descriptor_jvp_reverse(const DescriptorShape &shape, const Real *t, const Real *t_dot,
                            const Real *g_d, const Real *e_d, Real *g_t);

}  // namespace dptrain::kernels
