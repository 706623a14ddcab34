#include "kernels/gram_kernels.h"

namespace dptrain::kernels {

#define DPTRAIN_INSTANTIATE(Real)                                                                \
  template void gram_value<4>(const GramShape &, const Real *, Real *);                          \
  template void gram_jvp<4>(const GramShape &, const Real *, const Real *, Real *);              \
  template void gram_reverse<4>(const GramShape &, const Real *, const Real *, Real *);          \
  template void gram_jvp_reverse<4>(const GramShape &, const Real *, const Real *, const Real *, \
                                    const Real *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
