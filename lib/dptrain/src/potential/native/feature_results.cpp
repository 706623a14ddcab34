#include "potential/native/feature_results.h"

#include <algorithm>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/atom_values.h"
#include "kernels/dense.h"
#include "kernels/layer.h"
#include "potential/nets/gemm.h"

namespace dptrain {

// (f - c) W = f W - c W, whose second part is the same for all atoms of a type.
template <class Real> void FeatureResults<Real>::set_metric(const FeatureMetric &metric)
{
  matrices_.copy_from(std::vector<Real>(metric.matrices.begin(), metric.matrices.end()));
  std::vector<Real> shift;
  for (int t = 0; t < ntypes_; ++t)
    for (int column = 0; column < features_; ++column) {
      double sum = 0.0;
      for (int k = 0; k < features_; ++k)
        sum += metric.center[static_cast<long>(t) * features_ + k] *
               metric.matrices[t * square() + static_cast<long>(k) * features_ + column];
      shift.push_back(static_cast<Real>(sum));
    }
  shift_.copy_from(shift);
}

template <class Real> void FeatureResults<Real>::set_scale(const std::vector<double> &scale)
{
  scale_ = scale.empty() ? std::vector<double>(ntypes_, 1.0) : scale;
}

template <class Real>
void FeatureResults<Real>::begin(const ForwardOutput *out, int n, std::size_t centers)
{
  const auto any = [&](auto member) {
    return std::any_of(out, out + n, [=](const ForwardOutput &o) { return o.*member != nullptr; });
  };
  wants_bars_ = any(&ForwardOutput::bar);
  wants_sum_ = any(&ForwardOutput::feature_sum);
  wants_covariance_ = any(&ForwardOutput::feature_covariance);
  if (wants_bars_ && matrices_.size() == 0)
    throw Error("The model has no error bars: nothing was said about the frames that it has "
                "learned from; train it with fix dptrain or dptrain train of this version");
  if (n != 1 && (wants_sum_ || wants_covariance_))
    throw internal_error("Sums of features are made of one frame at a time");
  if (wants_bars_) bars_.resize(centers);
  if (wants_sum_) sums_.resize_clear(static_cast<long>(ntypes_) * features_);
  if (wants_covariance_) covariance_.resize_clear(ntypes_ * square());
}

template <class Real>
std::vector<double> FeatureResults<Real>::arguments(const ForwardOutput *out, int n) const
{
  std::vector<double> all = scale_;
  for (const auto member :
       {&ForwardOutput::bar, &ForwardOutput::feature_sum, &ForwardOutput::feature_covariance})
    all.push_back(
        std::any_of(out, out + n, [=](const ForwardOutput &o) { return o.*member != nullptr; }));
  return all;
}

template <class Real>
void FeatureResults<Real>::add(int type, int n, std::size_t place, const Real *f)
{
  const FullPrecision digits;
  if (wants_bars_) {
    Real *z = z_.resize(static_cast<long>(n) * features_);
    gemm<Real>(false, false, n, features_, features_, 1, f, matrices_.data() + type * square(), 0,
               z);
    kernels::row_distances(n, features_, z, shift_.data() + static_cast<long>(type) * features_,
                           scale_[type], bars_.data() + place);
  }
  if (wants_sum_)
    kernels::add_column_sums(f, n, features_, sums_.data() + static_cast<long>(type) * features_);
  if (wants_covariance_) {
    double *rows = rows_.resize(static_cast<long>(n) * features_);
    kernels::convert(f, static_cast<long>(n) * features_, rows);
    gemm<double>(true, false, features_, features_, n, 1, rows, rows, 1,
                 covariance_.data() + type * square());
  }
}

template <class Real> void FeatureResults<Real>::finish(ForwardOutput *out, int n)
{
  const auto add = [](const kernels::Array<double> &sums, double *target) {
    const std::vector<double> values = sums.to_host();
    for (std::size_t k = 0; k < values.size(); ++k) target[k] += values[k];
  };
  for (ForwardOutput *o = out; o != out + n; ++o) {
    if (o->feature_sum) add(sums_, o->feature_sum);
    if (o->feature_covariance) add(covariance_, o->feature_covariance);
  }
}

template <class Real> std::size_t FeatureResults<Real>::memory_bytes() const
{
  return matrices_.memory_bytes() + shift_.memory_bytes() + z_.memory_bytes() +
         rows_.memory_bytes() + bars_.memory_bytes() + sums_.memory_bytes() +
         covariance_.memory_bytes();
}

template class FeatureResults<double>;
template class FeatureResults<float>;

}  // namespace dptrain
