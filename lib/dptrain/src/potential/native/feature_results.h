#pragma once

#include <vector>

#include "dptrain/potential/model/model.h"
#include "kernels/memory.h"

namespace dptrain {

/// What ForwardOutput asks of the features f of the atoms, collected chunk by chunk during a sweep: bars scale_t |(f - c_t) W_t|,
/// the sums of f and of f^T f.
template <class Real> class FeatureResults {
 public:
  FeatureResults(int ntypes, int features) :
      scale_(ntypes, 1.0), ntypes_(ntypes), features_(features)
  {
  }

  int features() const { return features_; }
  void set_metric(const FeatureMetric &metric);
  /// [ntypes]; empty: all are 1.
  void set_scale(const std::vector<double> &scale);
  /// Starts a sweep over `centers` centers for these outputs. Throws Error where something is asked for that cannot be.
  void begin(const ForwardOutput *out, int n, std::size_t centers);
  /// A chunk of centers of one type: f [n][features]; `place` of its first center among all.
  void add(int type, int n, std::size_t place, const Real *f);
  /// By center, in the memory of the kernels; valid where some output asks for bars.
  const kernels::Array<double> &bars() const { return bars_; }
  bool has_bars() const { return wants_bars_; }
  /// Where this changes, the kernels of begin() and add() get other arguments for the same centers.
  std::vector<double> arguments(const ForwardOutput *out, int n) const;
  /// Adds the sums to what the outputs point to.
  void finish(ForwardOutput *out, int n);

  std::size_t memory_bytes() const;

 private:
  long square() const { return static_cast<long>(features_) * features_; }

  std::vector<double> scale_;  // [ntypes]
  int ntypes_, features_;
  bool wants_bars_ = false, wants_sum_ = false, wants_covariance_ = false;
  kernels::Array<Real> matrices_, shift_, z_;  // W, c W
  kernels::Array<double> bars_, sums_, covariance_, rows_;
};

}  // namespace dptrain
