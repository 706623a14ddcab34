#pragma once

#include <vector>

#include "dptrain/potential/model/model.h"
#include "kernels/memory.h"

namespace dptrain {

/// What ForwardOutput asks of the last hidden layer, collected chunk by chunk during a sweep: |f_i W|, the sums of f_i
/// and of f_i^T f_i.
template <class Real> class LastLayer {
 public:
  LastLayer(int ntypes, int features) : ntypes_(ntypes), features_(features) {}

  int features() const { return features_; }
  /// W [ntypes][features][features].
  void set_whitening(const std::vector<double> &matrices);
  /// Starts a sweep over `centers` centers for these outputs. Throws Error where something is asked for that cannot be.
  void begin(const ForwardOutput *out, int n, std::size_t centers);
  /// A chunk of centers of one type: f [n][features]; `place` of its first center among all.
  void add(int type, int n, std::size_t place, const Real *f);
  /// By center, in the memory of the kernels; valid where some output asks for uncertainties.
  const kernels::Array<double> &uncertainty() const { return norms_; }
  bool has_uncertainty() const { return wants_norms_; }
  /// Adds the sums to what the outputs point to.
  void finish(ForwardOutput *out, int n);

  std::size_t memory_bytes() const;

 private:
  long square() const { return static_cast<long>(features_) * features_; }

  int ntypes_, features_;
  bool wants_norms_ = false, wants_sum_ = false, wants_covariance_ = false;
  kernels::Array<Real> whitening_, z_;
  kernels::Array<double> norms_, sums_, covariance_, rows_;
};

}  // namespace dptrain
