#include "optimizer/soap_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ops/addcmul.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>

#include "optimizer/orthonormal.h"
#include "potential/nets/tensors.h"

namespace dptrain {

namespace {

// Relative to the largest one, eigenvalues below this are not told from rounding.
template <class T> T resolution()
{
  static const T value = std::pow(std::numeric_limits<T>::epsilon(), T(2) / T(3));
  return value;
}

template <class T> double *copy_out(const kernels::Array<T> &from, double *to)
{
  const std::vector<T> values = from.to_host();
  return std::copy(values.begin(), values.end(), to);
}

template <class T> const double *copy_in(const double *from, kernels::Array<T> &to)
{
  const double *const end = from + to.size();
  to.copy_from(std::vector<T>(from, end));
  return end;
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

template <class T> SoapMatrix<T>::Block::Block(std::int64_t b, std::int64_t n) : begin(b), length(n)
{
  const auto numbers = static_cast<std::size_t>(n * n);
  std::vector<T> identity(numbers, T(0));
  for (std::int64_t k = 0; k < n; ++k) identity[k * (n + 1)] = T(1);
  covariance.resize_clear(numbers);
  basis.copy_from(identity);
  product.resize(numbers);
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
  for (auto *matrix : {&work_, &spare_}) matrix->resize_clear(static_cast<std::size_t>(size()));
}

template <class T>
typename SoapMatrix<T>::Side SoapMatrix<T>::make_side(const OptimizerConfig &config, std::int64_t n)
{
  Side side;
  std::int64_t begin = 0;
  for (const std::int64_t length : block_lengths(config, n)) {
    side.emplace_back(begin, length);
    begin += length;
  }
  return side;
}

// work <- basis work (rows) or work basis (columns), or with the transpose of the basis
template <class T> void SoapMatrix<T>::multiply(const Side &side, bool rows, bool transposed)
{
  for (const Block &block : side) {
    const View square = block.view(block.basis), basis = transposed ? square.transposed() : square;
    const auto part = [&](const View &whole) {
      return rows ? rows_of(whole, block) : columns_of(whole, block);
    };
    in_torch("soap", [to = part(view(spare_)), from = part(view(work_)), basis, rows] {
      at::Tensor target = to.tensor();
      if (rows)
        at::mm_out(target, basis.tensor(), from.tensor());
      else
        at::mm_out(target, from.tensor(), basis.tensor());
    });
  }
  work_.swap(spare_);
}

template <class T> void SoapMatrix<T>::to_basis()
{
  multiply(left_, true, true);
  multiply(right_, false, false);
}

template <class T> void SoapMatrix<T>::from_basis()
{
  multiply(left_, true, false);
  multiply(right_, false, true);
}

// The gradients seen so far rarely reach all directions: the eigenvectors of the others would depend on rounding. They
// are completed by Householder reflections, which depend on the known ones alone. Largest eigenvalue first, the order
// in which orthogonal iteration leaves them. Once in a training, on the host.
template <class T> void SoapMatrix<T>::find_eigenvectors(Block &block)
{
  const std::int64_t n = block.length;
  const bool is_elsewhere = kernels::separate_memory();
  std::vector<T> copy;
  if (is_elsewhere) copy = block.covariance.to_host();
  T *const covariance = is_elsewhere ? copy.data() : block.covariance.data();
  const at::Tensor matrix = at::from_blob(covariance, {n, n}, c10::CppTypeToScalarType<T>::value);
  const auto [values, vectors] = at::linalg_eigh(matrix);
  const T *value = values.template const_data_ptr<T>();
  const T least = value[n - 1] * resolution<T>();
  std::int64_t zeros = 0;
  while (zeros < n - 1 && value[zeros] < least) ++zeros;
  const at::Tensor known = vectors.slice(1, zeros, n).flip(1);
  const at::Tensor all = std::get<0>(at::linalg_qr(known, "complete")).contiguous();
  const T *const numbers = all.template const_data_ptr<T>();
  if (is_elsewhere)
    block.basis.copy_from(numbers, static_cast<std::size_t>(n * n));
  else
    std::copy_n(numbers, n * n, block.basis.data());
}

// One step of orthogonal iteration. The shift leaves the eigenvectors as they are, and keeps directions that the
// gradients have hardly reached where they were, instead of where rounding puts them.
template <class T> void SoapMatrix<T>::refresh(Block &block)
{
  in_torch("soap", [covariance = block.view(block.covariance), basis = block.view(block.basis),
                    product = block.view(block.product)] {
    const at::Tensor c = covariance.tensor(), b = basis.tensor();
    at::Tensor p = product.tensor();
    at::mm_out(p, c, b);
    at::addcmul_out(p, p, b, c.trace(), resolution<T>());
    if (!c.is_cuda()) {
      b.copy_(orthonormal_by_reflections(p));
      return;
    }
    // no gradient for thousands of steps: nothing is left of the mean, and the basis stays
    const at::Tensor found = orthonormal_by_cholesky(p);
    b.copy_(at::where(found.isfinite().all(), found, b));
  });
}

// The mean of the gradient keeps its meaning in the new bases; its square does not, and adapts by itself.
template <class T> void SoapMatrix<T>::refresh_bases(Moments<T> &moments)
{
  T *mean = moments.mean.data() + offset_;
  kernels::copy_numbers(size(), mean, work_.data());
  from_basis();
  for (Side *side : {&left_, &right_})
    for (Block &block : *side) refresh(block);
  to_basis();
  kernels::copy_numbers(size(), work_.data(), mean);
}

// work <- gradient, which the means of G G^T and G^T G take up
template <class T> void SoapMatrix<T>::accumulate(const double *gradient)
{
  kernels::copy_numbers(size(), gradient, work_.data());
  const auto add = [this](const Block &block, const View &left) {
    in_torch("soap", [covariance = block.view(block.covariance), left, old = *config_.beta2] {
      at::Tensor c = covariance.tensor();
      at::addmm_out(c, c, left.tensor(), left.transposed().tensor(), old, 1.0 - old);
    });
  };
  const View g = view(work_);
  for (const Block &block : left_) add(block, rows_of(g, block));
  for (const Block &block : right_) add(block, columns_of(g, block).transposed());
}

template <class T> typename SoapMatrix<T>::Stage SoapMatrix<T>::begin_step(bool has_gradient)
{
  if (gradients_ == 0 && !has_gradient) return stage_ = Stage::silent;
  stage_ = gradients_ == 0 ? Stage::makes_bases : Stage::plain;
  ++gradients_;
  if (stage_ == Stage::plain && gradients_ % config_.precondition_frequency == 0)
    stage_ = Stage::refreshes;
  return stage_;
}

template <class T>
void SoapMatrix<T>::step(Moments<T> &moments, double *parameters, const double *gradient,
                         const kernels::AdamRates *rates)
{
  if (stage_ == Stage::silent) return;
  accumulate(gradient + offset_);
  if (stage_ == Stage::makes_bases) {
    for (Side *side : {&left_, &right_})
      for (Block &block : *side) find_eigenvectors(block);
    return;
  }
  if (stage_ == Stage::refreshes) {
    refresh_bases(moments);
    kernels::copy_numbers(size(), gradient + offset_, work_.data());
  }
  to_basis();
  kernels::adam_change(moments.constants, rates, size(), work_.data(),
                       moments.mean.data() + offset_, moments.square.data() + offset_);
  from_basis();
  kernels::subtract_change(rates, size(), work_.data(), parameters + offset_);
}

template <class T> double *SoapMatrix<T>::pack(double *state) const
{
  *state++ = static_cast<double>(gradients_);
  for (const Side *side : {&left_, &right_})
    for (const Block &block : *side)
      state = copy_out(block.basis, copy_out(block.covariance, state));
  return state;
}

template <class T> const double *SoapMatrix<T>::unpack(const double *state)
{
  gradients_ = static_cast<std::int64_t>(*state++);
  for (Side *side : {&left_, &right_})
    for (Block &block : *side) state = copy_in(copy_in(state, block.covariance), block.basis);
  return state;
}

template <class T> std::size_t SoapMatrix<T>::memory_bytes() const
{
  std::size_t bytes = work_.memory_bytes() + spare_.memory_bytes();
  for (const Side *side : {&left_, &right_})
    for (const Block &block : *side)
      bytes += block.covariance.memory_bytes() + block.basis.memory_bytes() +
               block.product.memory_bytes();
  return bytes;
}

template class SoapMatrix<float>;
template class SoapMatrix<double>;

}  // namespace dptrain
