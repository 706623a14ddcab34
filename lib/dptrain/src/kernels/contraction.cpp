#include "kernels/contraction_kernels.h"

namespace dptrain::kernels {

#define DPTRAIN_INSTANTIATE(Real)                                                                \
  template void contraction_value(const Contraction<Real> &, Real *);                            \
  template void contraction_reverse(const Contraction<Real> &, const Real *, const ForceSums &); \
  template void contraction_jvp(const Contraction<Real> &, const double *, const double *,       \
                                Real *);                                                         \
  template void edge_arguments(const Contraction<Real> &, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
