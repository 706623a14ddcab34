#include "kernels/contraction_kernels.h"

namespace dptrain::kernels {

#define DPTRAIN_INSTANTIATE(Real)                                                               \
  template void contraction_gradient(const Contraction<Real> &, const double *, const double *, \
                                     const Real *, const Real *, Real *, const Copies &);       \
  template void contraction_bins(const Contraction<Real> &, int, int, const double *,           \
                                 const double *, Real *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
