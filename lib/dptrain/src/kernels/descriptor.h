#pragma once

namespace dptrain::kernels {

/// Shapes: T is [centers][4][width], D is [centers][channels][axis] with channels <= width; D_ma = sum_c T_cm T_ca.
struct DescriptorShape {
  int centers, width, channels, axis;
};

/// Value: D from T.
void descriptor_value(const DescriptorShape &shape, const double *t, double *d);
/// JVP: tangent of D along t_dot.
void descriptor_jvp(const DescriptorShape &shape, const double *t, const double *t_dot,
                    double *d_dot);
/// Reverse: g_t = dE/dT from g_d = dE/dD. Padding channels of g_t become zero.
void descriptor_reverse(const DescriptorShape &shape, const double *t, const double *g_d,
                        double *g_t);
/// Reverse of the pair (D, D_dot): g_t = dS/dT, g_t_dot = dS/dT_dot.
void descriptor_jvp_reverse(const DescriptorShape &shape, const double *t, const double *t_dot,
                            const double *g_d, const double *g_d_dot, double *g_t, double *g_t_dot);

}  // namespace dptrain::kernels
