#include "potential/nets/last_layer.h"

#include <algorithm>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/atom_values.h"
#include "kernels/dense.h"
#include "kernels/layer.h"
#include "potential/nets/gemm.h"

namespace dptrain {

template <class Real> void LastLayer<Real>::set_whitening(const std::vector<double> &matrices)
{
  whitening_.copy_from(std::vector<Real>(matrices.begin(), matrices.end()));
}

template <class Real>
void LastLayer<Real>::begin(const ForwardOutput *out, int n, std::size_t centers)
{
  const auto any = [&](auto member) {
    return std::any_of(out, out + n, [=](const ForwardOutput &o) { return o.*member != nullptr; });
  };
  wants_norms_ = any(&ForwardOutput::uncertainty);
  wants_sum_ = any(&ForwardOutput::feature_sum);
  wants_covariance_ = any(&ForwardOutput::feature_covariance);
  if (wants_norms_ && whitening_.size() == 0)
    throw Error("The model has no uncertainty: it was not trained by fix dptrain, and nothing was "
                "said about the frames that it has learned from; train it with fix dptrain");
  if (n != 1 && (wants_sum_ || wants_covariance_))
    throw internal_error("Sums of features are made of one frame at a time");
  if (wants_norms_) norms_.resize(centers);
  if (wants_sum_) sums_.resize_clear(static_cast<long>(ntypes_) * features_);
  if (wants_covariance_) covariance_.resize_clear(ntypes_ * square());
}

template <class Real> void LastLayer<Real>::add(int type, int n, std::size_t place, const Real *f)
{
  const FullPrecision digits;
  if (wants_norms_) {
    Real *z = z_.resize(static_cast<long>(n) * features_);
    gemm<Real>(false, false, n, features_, features_, 1, f, whitening_.data() + type * square(), 0,
               z);
    kernels::row_norms(n, features_, z, norms_.data() + place);
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

template <class Real> void LastLayer<Real>::finish(ForwardOutput *out, int n)
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

template <class Real> std::size_t LastLayer<Real>::memory_bytes() const
{
  return whitening_.memory_bytes() + z_.memory_bytes() + rows_.memory_bytes() +
         norms_.memory_bytes() + sums_.memory_bytes() + covariance_.memory_bytes();
}

template class LastLayer<double>;
template class LastLayer<float>;

}  // namespace dptrain
