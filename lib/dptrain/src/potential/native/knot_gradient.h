#pragma once

#include "kernels/contraction.h"
#include "kernels/memory.h"

namespace dptrain {

/// The gradient by the rows of the table without atomic additions (kernels/contraction_bins.h), for devices. Not for
/// direct chunks, which have no table.
template <class Real> class KnotGradient {
 public:
  /// The same as kernels::contraction_gradient with one copy.
  void add(const kernels::Contraction<Real> &c, const double *r, const double *strain,
           const Real *g_t, const Real *e_t, Real *table_gradient);
  std::size_t memory_bytes() const { return q_.memory_bytes() + p_.memory_bytes(); }

 private:
  kernels::Array<Real> q_, p_;
};

}  // namespace dptrain
