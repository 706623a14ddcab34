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
  // a basis of one direction changes nothing
  return rows > 1 && cols > 1 && config.max_precondition_dim > 1;
}

template <class T>
std::vector<std::int64_t> SoapMatrix<T>::block_lengths(const OptimizerConfig &config,
                                                       std::int64_t n)
{
  const std::int64_t most = config.max_precondition_dim, count = (n + most - 1) / most;
  std::vector<std::int64_t> lengths;
  for (std::int64_t k = 0; k < count; ++k) lengths.push_back((k + 1) * n / count - k * n / count);
  return lengths;
}

template <class T>
std::size_t SoapMatrix<T>::state_size(const OptimizerConfig &config, std::int64_t rows,
                                      std::int64_t cols)
{
  std::size_t size = 1;
  for (const std::int64_t n : {rows, cols})
    for (const std::int64_t length : block_lengths(config, n))
      size += 2 * static_cast<std::size_t>(length * length);
  return size;
}

template <class T>
SoapMatrix<T>::SoapMatrix(const OptimizerConfig &config, std::size_t offset, std::int64_t rows,
                          std::int64_t cols) :
    config_(config),
    offset_(offset),
    rows_(rows),
    cols_(cols),
    left_(make_side(config, rows)),
    right_(make_side(config, cols))
{
  for (Buffer *buffer : {&work_, &spare_}) {
    buffer->matrix = at::zeros({rows, cols}, options<T>());
    buffer->transposed = buffer->matrix.t();
  }
}

template <class T>
typename SoapMatrix<T>::Side SoapMatrix<T>::make_side(const OptimizerConfig &config, std::int64_t n)
{
  Side side;
  std::int64_t begin = 0;
  for (const std::int64_t length : block_lengths(config, n)) {
    Block block{begin, length, {}, {}, {}, {}};
    block.covariance = at::zeros({length, length}, options<T>());
    block.basis = at::eye(length, options<T>());
    block.basis_t = block.basis.t();
    block.product = at::empty({length, length}, options<T>());
    side.push_back(std::move(block));
    begin += length;
  }
  return side;
}

template <class T> template <class Number> void SoapMatrix<T>::load(const Number *values)
{
  copy_in<T>(values, work_.matrix);
}

template <class T>
at::Tensor SoapMatrix<T>::rows_of(const at::Tensor &matrix, const Block &block) const
{
  return block.length == matrix.size(0) ? matrix : matrix.narrow(0, block.begin, block.length);
}

template <class T>
at::Tensor SoapMatrix<T>::columns_of(const at::Tensor &matrix, const Block &block) const
{
  return block.length == matrix.size(1) ? matrix : matrix.narrow(1, block.begin, block.length);
}

// work <- basis work
template <class T> void SoapMatrix<T>::multiply_left(at::Tensor Block::*basis)
{
  for (const Block &block : left_) {
    at::Tensor to = rows_of(spare_.matrix, block);
    at::mm_out(to, block.*basis, rows_of(work_.matrix, block));
  }
  std::swap(work_, spare_);
}

// work <- work basis
template <class T> void SoapMatrix<T>::multiply_right(at::Tensor Block::*basis)
{
  for (const Block &block : right_) {
    at::Tensor to = columns_of(spare_.matrix, block);
    at::mm_out(to, columns_of(work_.matrix, block), block.*basis);
  }
  std::swap(work_, spare_);
}

template <class T> void SoapMatrix<T>::to_basis()
{
  multiply_left(&Block::basis_t);
  multiply_right(&Block::basis);
}

template <class T> void SoapMatrix<T>::from_basis()
{
  multiply_left(&Block::basis);
  multiply_right(&Block::basis_t);
}

// The gradients seen so far rarely reach all directions: the eigenvectors of the others would depend on rounding. They
// are completed by Householder reflections, which depend on the known ones alone. Largest eigenvalue first, the order
// in which orthogonal iteration leaves them.
template <class T> void SoapMatrix<T>::find_eigenvectors(Block &block)
{
  const auto [values, vectors] = at::linalg_eigh(block.covariance);
  const T *value = values.template const_data_ptr<T>();
  const std::int64_t n = values.numel();
  const T least = value[n - 1] * resolution<T>();
  std::int64_t zeros = 0;
  while (zeros < n - 1 && value[zeros] < least) ++zeros;
  const at::Tensor known = vectors.slice(1, zeros, n).flip(1);
  block.basis.copy_(std::get<0>(at::linalg_qr(known, "complete")));
}

// One step of orthogonal iteration. The shift leaves the eigenvectors as they are, and keeps directions that the
// gradients have hardly reached where they were, instead of where rounding puts them.
template <class T> void SoapMatrix<T>::refresh(Block &block)
{
  const std::int64_t n = block.covariance.size(0);
  const T *values = block.covariance.template const_data_ptr<T>();
  T trace = 0;
  for (std::int64_t k = 0; k < n; ++k) trace += values[k * (n + 1)];
  const double shift = resolution<T>() * trace;
  at::addmm_out(block.product, block.basis, block.covariance, block.basis, shift, 1.0);
  block.basis.copy_(std::get<0>(at::linalg_qr(block.product)));
}

// The mean of the gradient keeps its meaning in the new bases; its square does not, and adapts by itself.
template <class T> void SoapMatrix<T>::refresh_bases(Moments<T> &moments)
{
  T *mean = moments.mean.data() + offset_;
  load(mean);
  from_basis();
  for (Side *side : {&left_, &right_})
    for (Block &block : *side) refresh(block);
  to_basis();
  std::copy_n(work_.matrix.template const_data_ptr<T>(), rows_ * cols_, mean);
}

template <class T> void SoapMatrix<T>::accumulate(Moments<T> &moments, const double *gradient)
{
  const double old = *config_.beta2, fresh = 1.0 - old;
  ++gradients_;
  load(gradient);
  for (Block &block : left_)
    at::addmm_out(block.covariance, block.covariance, rows_of(work_.matrix, block),
                  columns_of(work_.transposed, block), old, fresh);
  for (Block &block : right_)
    at::addmm_out(block.covariance, block.covariance, rows_of(work_.transposed, block),
                  columns_of(work_.matrix, block), old, fresh);
  if (gradients_ == 1) {
    for (Side *side : {&left_, &right_})
      for (Block &block : *side) find_eigenvectors(block);
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
    for (const Block &block : *side)
      state = copy_out<T>(block.basis, copy_out<T>(block.covariance, state));
  return state;
}

template <class T> const double *SoapMatrix<T>::unpack(const double *state)
{
  gradients_ = static_cast<std::int64_t>(*state++);
  for (Side *side : {&left_, &right_})
    for (Block &block : *side) state = copy_in<T>(copy_in<T>(state, block.covariance), block.basis);
  return state;
}

template <class T> std::size_t SoapMatrix<T>::memory_bytes() const
{
  std::int64_t numbers = 2 * rows_ * cols_;
  for (const Side *side : {&left_, &right_})
    for (const Block &block : *side) numbers += 3 * block.covariance.numel();
  return static_cast<std::size_t>(numbers) * sizeof(T);
}

template class SoapMatrix<float>;
template class SoapMatrix<double>;

}  // namespace dptrain
