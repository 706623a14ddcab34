#include "optimizer/soap_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

namespace dptrain {

namespace {

template <class T> at::TensorOptions options()
{
  return at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value);
}

// Relative to the largest one, eigenvalues below this are not told from rounding.
template <class T> T resolution()
{
  static const T value = std::pow(std::numeric_limits<T>::epsilon(), T(2) / T(3));
  return value;
}

bool is_short(const OptimizerConfig &config, std::int64_t n)
{
  return n <= config.max_precondition_dim;
}

template <class T> double *copy_out(const at::Tensor &from, double *to)
{
  const T *values = from.const_data_ptr<T>();
  return std::copy(values, values + from.numel(), to);
}

template <class T, class Number> const Number *copy_in(const Number *from, const at::Tensor &to)
{
  T *values = to.mutable_data_ptr<T>();
  for (std::int64_t k = 0; k < to.numel(); ++k) values[k] = static_cast<T>(from[k]);
  return from + to.numel();
}

}  // namespace

template <class T>
bool SoapMatrix<T>::applies(const OptimizerConfig &config, std::int64_t rows, std::int64_t cols)
{
  return rows > 1 && cols > 1 && (is_short(config, rows) || is_short(config, cols));
}

template <class T>
std::size_t SoapMatrix<T>::state_size(const OptimizerConfig &config, std::int64_t rows,
                                      std::int64_t cols)
{
  std::size_t size = 1;
  for (const std::int64_t n : {rows, cols})
    if (is_short(config, n)) size += 2 * static_cast<std::size_t>(n * n);
  return size;
}

template <class T>
SoapMatrix<T>::SoapMatrix(const OptimizerConfig &config, std::size_t offset, std::int64_t rows,
                          std::int64_t cols) :
    config_(config), offset_(offset), rows_(rows), cols_(cols)
{
  if (is_short(config, rows)) left_ = make_side(rows);
  if (is_short(config, cols)) right_ = make_side(cols);
  for (Buffer *buffer : {&work_, &spare_}) {
    buffer->matrix = at::zeros({rows, cols}, options<T>());
    buffer->transposed = buffer->matrix.t();
  }
}

template <class T> typename SoapMatrix<T>::Side SoapMatrix<T>::make_side(std::int64_t n) const
{
  Side side;
  side.covariance = at::zeros({n, n}, options<T>());
  side.basis = at::eye(n, options<T>());
  side.basis_t = side.basis.t();
  side.product = at::empty({n, n}, options<T>());
  return side;
}

template <class T> template <class Number> void SoapMatrix<T>::load(const Number *values)
{
  copy_in<T>(values, work_.matrix);
}

// work <- left right
template <class T> void SoapMatrix<T>::multiply(const at::Tensor &left, const at::Tensor &right)
{
  at::mm_out(spare_.matrix, left, right);
  std::swap(work_, spare_);
}

template <class T> void SoapMatrix<T>::to_basis()
{
  if (left_.active()) multiply(left_.basis_t, work_.matrix);
  if (right_.active()) multiply(work_.matrix, right_.basis);
}

template <class T> void SoapMatrix<T>::from_basis()
{
  if (left_.active()) multiply(left_.basis, work_.matrix);
  if (right_.active()) multiply(work_.matrix, right_.basis_t);
}

// The gradients seen so far rarely reach all directions: the eigenvectors of the others would depend on rounding. They
// are completed by Householder reflections, which depend on the known ones alone. Largest eigenvalue first, the order
// in which orthogonal iteration leaves them.
template <class T> void SoapMatrix<T>::find_eigenvectors(Side &side)
{
  const auto [values, vectors] = at::linalg_eigh(side.covariance);
  const T *value = values.template const_data_ptr<T>();
  const std::int64_t n = values.numel();
  const T least = value[n - 1] * resolution<T>();
  std::int64_t zeros = 0;
  while (zeros < n - 1 && value[zeros] < least) ++zeros;
  const at::Tensor known = vectors.slice(1, zeros, n).flip(1);
  side.basis.copy_(std::get<0>(at::linalg_qr(known, "complete")));
}

// One step of orthogonal iteration. The shift leaves the eigenvectors as they are, and keeps directions that the
// gradients have hardly reached where they were, instead of where rounding puts them.
template <class T> void SoapMatrix<T>::refresh(Side &side)
{
  const std::int64_t n = side.covariance.size(0);
  const T *values = side.covariance.template const_data_ptr<T>();
  T trace = 0;
  for (std::int64_t k = 0; k < n; ++k) trace += values[k * (n + 1)];
  const double shift = resolution<T>() * trace;
  at::addmm_out(side.product, side.basis, side.covariance, side.basis, shift, 1.0);
  side.basis.copy_(std::get<0>(at::linalg_qr(side.product)));
}

// The mean of the gradient keeps its meaning in the new bases; its square does not, and adapts by itself.
template <class T> void SoapMatrix<T>::refresh_bases(Moments<T> &moments)
{
  T *mean = moments.mean.data() + offset_;
  load(mean);
  from_basis();
  for (Side *side : {&left_, &right_})
    if (side->active()) refresh(*side);
  to_basis();
  std::copy_n(work_.matrix.template const_data_ptr<T>(), rows_ * cols_, mean);
}

template <class T> void SoapMatrix<T>::accumulate(Moments<T> &moments, const double *gradient)
{
  const double old = *config_.beta2, fresh = 1.0 - old;
  ++gradients_;
  load(gradient);
  if (left_.active())
    at::addmm_out(left_.covariance, left_.covariance, work_.matrix, work_.transposed, old, fresh);
  if (right_.active())
    at::addmm_out(right_.covariance, right_.covariance, work_.transposed, work_.matrix, old, fresh);
  if (gradients_ == 1) {
    for (Side *side : {&left_, &right_})
      if (side->active()) find_eigenvectors(*side);
  } else if (gradients_ % config_.precondition_frequency == 0) {
    refresh_bases(moments);
    load(gradient);
  }
}

template <class T>
void SoapMatrix<T>::step(Moments<T> &moments, double *parameters, const double *gradient, double lr)
{
  const std::size_t begin = offset_, end = offset_ + static_cast<std::size_t>(rows_ * cols_);
  const bool silent =
      std::all_of(gradient + begin, gradient + end, [](double g) { return g == 0.0; });
  if (gradients_ == 0 && silent) return;
  accumulate(moments, gradient + begin);
  if (gradients_ == 1) return;

  to_basis();
  T *rotated = work_.matrix.template mutable_data_ptr<T>();
  moments.step(
      begin, end, moments.correction(gradients_ - 1, lr),
      [=](std::size_t k) { return rotated[k - begin]; },
      [=](std::size_t k, T change) { rotated[k - begin] = change; });
  from_basis();
  const T *change = work_.matrix.template const_data_ptr<T>();
  const double keep = 1.0 - lr * *config_.weight_decay;
  for (std::size_t k = begin; k < end; ++k)
    parameters[k] = keep * parameters[k] - change[k - begin];
}

template <class T> double *SoapMatrix<T>::pack(double *state) const
{
  *state++ = static_cast<double>(gradients_);
  for (const Side *side : {&left_, &right_})
    if (side->active()) state = copy_out<T>(side->basis, copy_out<T>(side->covariance, state));
  return state;
}

template <class T> const double *SoapMatrix<T>::unpack(const double *state)
{
  gradients_ = static_cast<std::int64_t>(*state++);
  for (Side *side : {&left_, &right_})
    if (side->active()) state = copy_in<T>(copy_in<T>(state, side->covariance), side->basis);
  return state;
}

template <class T> std::size_t SoapMatrix<T>::memory_bytes() const
{
  std::int64_t numbers = 2 * rows_ * cols_;
  for (const Side *side : {&left_, &right_})
    if (side->active()) numbers += 3 * side->covariance.numel();
  return static_cast<std::size_t>(numbers) * sizeof(T);
}

template class SoapMatrix<float>;
template class SoapMatrix<double>;

}  // namespace dptrain
