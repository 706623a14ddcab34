#pragma once

#include <algorithm>

#include "kernels/contraction.h"
#include "kernels/memory.h"
#include "potential/nets/gemm.h"

namespace dptrain {

/// The gradient by the rows of the table without atomic additions (kernels::contraction_bins), for devices. Not for direct
/// chunks, which have no table.
template <class Real> class KnotGradient {
 public:
  /// The same as kernels::contraction_gradient with one copy.
  template <class Rows>
  void add(const kernels::Contraction<Real, Rows> &c, const double *r, const double *strain,
           const Real *g_t, const Real *e_t, Real *table_gradient)
  {
    const long width = c.table.width, rows = c.table.net_size / width,
               per_center = Rows::rows * rows;
    const long bytes = c.edges.ntypes * per_center * static_cast<long>(sizeof(Real));
    const int block =
        static_cast<int>(std::clamp<long>(most_bytes / bytes, 1, std::max(1, c.edges.num_centers)));
    for (int begin = 0; begin < c.edges.num_centers; begin += block) {
      const int n = std::min(block, c.edges.num_centers - begin);
      Real *q = q_.resize_clear(c.edges.ntypes * n * per_center);
      Real *p = p_.resize_clear(c.edges.ntypes * n * per_center);
      kernels::contraction_bins(c, begin, n, r, strain, q, p);
      const long count = static_cast<long>(Rows::rows) * n,
                 first = static_cast<long>(Rows::rows) * begin * width;
      for (int type = 0; type < c.edges.ntypes; ++type) {
        Real *gradient = table_gradient + c.net_of(type) * c.table.net_size;
        const long bins = type * n * per_center;
        gemm<Real>(true, false, rows, width, count, 1, q + bins, g_t + first, 1, gradient);
        gemm<Real>(true, false, rows, width, count, 1, p + bins, e_t + first, 1, gradient);
      }
    }
  }
  std::size_t memory_bytes() const { return q_.memory_bytes() + p_.memory_bytes(); }

 private:
  static constexpr long most_bytes = 128L << 20;  // of each array of bins
  kernels::Array<Real> q_, p_;
};

}  // namespace dptrain
