#include "potential/native/knot_gradient.h"

#include <algorithm>

#include "kernels/contraction.h"
#include "potential/native/gemm.h"

namespace dptrain {
namespace {

constexpr long most_bytes = 128L << 20;  // of each array of bins

}  // namespace

template <class Real>
void KnotGradient<Real>::add(const kernels::Contraction<Real> &c, const double *r,
                             const double *strain, const Real *g_t, const Real *e_t,
                             Real *table_gradient)
{
  const long width = c.table.width, rows = c.table.net_size / width, per_center = 4 * rows;
  const long bytes = c.edges.ntypes * per_center * static_cast<long>(sizeof(Real));
  const int block =
      static_cast<int>(std::clamp<long>(most_bytes / bytes, 1, std::max(1, c.edges.num_centers)));
  for (int begin = 0; begin < c.edges.num_centers; begin += block) {
    const int n = std::min(block, c.edges.num_centers - begin);
    Real *q = q_.resize_clear(c.edges.ntypes * n * per_center);
    Real *p = p_.resize_clear(c.edges.ntypes * n * per_center);
    kernels::contraction_bins(c, begin, n, r, strain, q, p);
    const long first = 4L * begin * width;
    for (int type = 0; type < c.edges.ntypes; ++type) {
      Real *gradient = table_gradient + (c.first_net + type * c.net_step) * c.table.net_size;
      const long bins = type * n * per_center;
      gemm<Real>(true, false, rows, width, 4L * n, 1, q + bins, g_t + first, 1, gradient);
      gemm<Real>(true, false, rows, width, 4L * n, 1, p + bins, e_t + first, 1, gradient);
    }
  }
}

template class KnotGradient<double>;
template class KnotGradient<float>;

}  // namespace dptrain
