#include "optimizer/soap_matrices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ops/addcmul.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/mm.h>

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

template <class T> std::vector<T> to_host(const T *from, std::size_t n)
{
  std::vector<T> values(n);
  kernels::copy_out(values.data(), from, n * sizeof(T));
  return values;
}

template <class T> double *copy_out(const T *from, std::size_t n, double *to)
{
  const std::vector<T> values = to_host(from, n);
  return std::copy(values.begin(), values.end(), to);
}

template <class T> const double *copy_in(const double *from, std::size_t n, T *to)
{
  const std::vector<T> values(from, from + n);
  kernels::copy_in(to, values.data(), n * sizeof(T));
  return from + n;
}

// Sums of the diagonals, in a form that multiplies each matrix.
at::Tensor traces(const at::Tensor &matrices)
{
  return matrices.diagonal(0, -2, -1).sum(-1, /*keepdim=*/true).unsqueeze(-1);
}

void product(at::Tensor &to, const at::Tensor &a, const at::Tensor &b)
{
  if (to.dim() == 2)
    at::mm_out(to, a, b);
  else
    at::bmm_out(to, a, b);
}

}  // namespace

template <class T>
bool SoapMatrices<T>::applies(const OptimizerConfig &config, std::int64_t rows, std::int64_t cols)
{
  // a basis of one direction changes nothing
  return rows > 1 && cols > 1 && config.max_precondition_dim > 1;
}

template <class T>
std::vector<std::int64_t> SoapMatrices<T>::block_lengths(const OptimizerConfig &config,
                                                         std::int64_t n)
{
  const std::int64_t most = config.max_precondition_dim, count = (n + most - 1) / most;
  std::vector<std::int64_t> lengths;
  for (std::int64_t k = 0; k < count; ++k) lengths.push_back((k + 1) * n / count - k * n / count);
  return lengths;
}

template <class T>
std::size_t SoapMatrices<T>::state_size(const OptimizerConfig &config, std::int64_t rows,
                                        std::int64_t cols)
{
  std::size_t size = 1;
  for (const std::int64_t n : {rows, cols})
    for (const std::int64_t length : block_lengths(config, n))
      size += 2 * static_cast<std::size_t>(length * length);
  return size;
}

template <class T>
SoapMatrices<T>::Block::Block(std::int64_t b, std::int64_t n, int number) : begin(b), length(n)
{
  const auto numbers = static_cast<std::size_t>(number * n * n);
  std::vector<T> identities(numbers, T(0));
  for (std::int64_t k = 0; k < number * n; ++k) identities[k * n + k % n] = T(1);
  covariance.resize_clear(numbers);
  basis.copy_from(identities);
  product.resize(numbers);
}

template <class T>
SoapMatrices<T>::SoapMatrices(const OptimizerConfig &config, const std::vector<long> &offsets,
                              std::int64_t rows, std::int64_t cols) :
    config_(config), rows_(rows), cols_(cols)
{
  for (const long offset : offsets) matrices_.push_back({offset});
  offsets_.copy_from(offsets);
  left_ = make_side(rows);
  right_ = make_side(cols);
  for (auto *array : {&work_, &spare_})
    array->resize_clear(static_cast<std::size_t>(number() * size()));
}

template <class T> typename SoapMatrices<T>::Side SoapMatrices<T>::make_side(std::int64_t n) const
{
  Side side;
  std::int64_t begin = 0;
  for (const std::int64_t length : block_lengths(config_, n)) {
    side.emplace_back(begin, length, number());
    begin += length;
  }
  return side;
}

// to <- basis from (rows) or from basis (columns), or with the transpose of the basis
template <class T>
void SoapMatrices<T>::multiply(const Run &run, const Side &side, bool rows, bool transposed,
                               const kernels::Array<T> &from, kernels::Array<T> &to)
{
  for (const Block &block : side) {
    const View square = block.view(run, block.basis),
               basis = transposed ? square.transposed() : square;
    const auto part = [&](const View &whole) {
      return rows ? whole.row_block(block.begin, block.length)
                  : whole.column_block(block.begin, block.length);
    };
    in_torch("soap", [target = part(view(run, to)), source = part(view(run, from)), basis, rows] {
      at::Tensor result = target.tensor();
      if (rows)
        product(result, basis.tensor(), source.tensor());
      else
        product(result, source.tensor(), basis.tensor());
    });
  }
}

template <class T> void SoapMatrices<T>::to_basis(const Run &run)
{
  multiply(run, left_, true, true, work_, spare_);
  multiply(run, right_, false, false, spare_, work_);
}

template <class T> void SoapMatrices<T>::from_basis(const Run &run)
{
  multiply(run, left_, true, false, work_, spare_);
  multiply(run, right_, false, true, spare_, work_);
}

// The gradients seen so far rarely reach all directions: the eigenvectors of the others would depend on rounding. They
// are completed by Householder reflections, which depend on the known ones alone. Largest eigenvalue first, the order
// in which orthogonal iteration leaves them. Once in a training, on the host.
template <class T> void SoapMatrices<T>::find_eigenvectors(Block &block, int m)
{
  const std::int64_t n = block.length;
  const auto numbers = static_cast<std::size_t>(n * n);
  // copies are counted, and threads of a host may be here at once
  const bool is_elsewhere = kernels::separate_memory();
  std::vector<T> copy;
  if (is_elsewhere) copy = to_host(block.of(block.covariance, m), numbers);
  T *const covariance = is_elsewhere ? copy.data() : block.of(block.covariance, m);
  const at::Tensor matrix = at::from_blob(covariance, {n, n}, c10::CppTypeToScalarType<T>::value);
  const auto [values, vectors] = at::linalg_eigh(matrix);
  const T *value = values.template const_data_ptr<T>();
  const T least = value[n - 1] * resolution<T>();
  std::int64_t zeros = 0;
  while (zeros < n - 1 && value[zeros] < least) ++zeros;
  const at::Tensor known = vectors.slice(1, zeros, n).flip(1);
  const at::Tensor all = std::get<0>(at::linalg_qr(known, "complete")).contiguous();
  const T *const found = all.template const_data_ptr<T>();
  if (is_elsewhere)
    kernels::copy_in(block.of(block.basis, m), found, numbers * sizeof(T));
  else
    std::copy_n(found, numbers, block.of(block.basis, m));
}

// One step of orthogonal iteration. The shift leaves the eigenvectors as they are, and keeps directions that the
// gradients have hardly reached where they were, instead of where rounding puts them.
template <class T> void SoapMatrices<T>::refresh(const Run &run, const Block &block)
{
  in_torch("soap", [covariance = block.view(run, block.covariance),
                    basis = block.view(run, block.basis), result = block.view(run, block.product)] {
    const at::Tensor c = covariance.tensor(), b = basis.tensor();
    at::Tensor p = result.tensor();
    product(p, c, b);
    at::addcmul_out(p, p, b, traces(c), resolution<T>());
    if (!c.is_cuda()) {
      b.copy_(orthonormal_by_reflections(p));
      return;
    }
    // no gradient for thousands of steps: nothing is left of the mean, and the basis stays
    b.copy_(where_finite(orthonormal_by_cholesky(p), b));
  });
}

// The mean of the gradient keeps its meaning in the new bases; its square does not, and adapts by itself.
template <class T> void SoapMatrices<T>::refresh_bases(const Run &run, Moments<T> &moments)
{
  kernels::gather_matrices(places(run), moments.mean.data(), of(run, work_));
  from_basis(run);
  for (const Side *side : {&left_, &right_})
    for (const Block &block : *side) refresh(run, block);
  to_basis(run);
  kernels::scatter_matrices(places(run), of(run, work_), moments.mean.data());
}

// The means of G G^T and G^T G take up the gradient, which is in work.
template <class T> void SoapMatrices<T>::accumulate(const Run &run)
{
  const auto add = [&](const Block &block, const View &left) {
    in_torch("soap", [covariance = block.view(run, block.covariance), left, old = *config_.beta2] {
      at::Tensor c = covariance.tensor();
      const at::Tensor a = left.tensor(), b = left.transposed().tensor();
      if (c.dim() == 2)
        at::addmm_out(c, c, a, b, old, 1.0 - old);
      else
        at::baddbmm_out(c, c, a, b, old, 1.0 - old);
    });
  };
  const View g = view(run, work_);
  for (const Block &block : left_) add(block, g.row_block(block.begin, block.length));
  for (const Block &block : right_)
    add(block, g.column_block(block.begin, block.length).transposed());
}

template <class T> void SoapMatrices<T>::begin_step(int m, bool has_gradient)
{
  Matrix &matrix = matrices_[m];
  matrix.stage = Stage::silent;
  if (matrix.gradients == 0 && !has_gradient) return;
  matrix.stage = matrix.gradients == 0 ? Stage::makes_bases : Stage::plain;
  ++matrix.gradients;
  if (matrix.stage == Stage::plain && matrix.gradients % config_.precondition_frequency == 0)
    matrix.stage = Stage::refreshes;
}

template <class T>
void SoapMatrices<T>::step(bool plain, Moments<T> &moments, double *parameters,
                           const double *gradient, const kernels::AdamRates *rates)
{
  for (int first = 0, end; first < number(); first = end) {
    for (end = first + 1; end < number() && stage(end) == stage(first);) ++end;
    if (stage(first) != Stage::silent && (stage(first) == Stage::plain) == plain)
      step({first, end - first}, moments, parameters, gradient, rates + first);
  }
}

template <class T>
void SoapMatrices<T>::step(const Run &run, Moments<T> &moments, double *parameters,
                           const double *gradient, const kernels::AdamRates *rates)
{
  kernels::gather_matrices(places(run), gradient, of(run, work_));
  accumulate(run);
  if (stage(run.first) == Stage::makes_bases) {
    for (Side *side : {&left_, &right_})
      for (Block &block : *side)
        for (int m = 0; m < run.number; ++m) find_eigenvectors(block, run.first + m);
    return;
  }
  if (stage(run.first) == Stage::refreshes) {
    refresh_bases(run, moments);
    kernels::gather_matrices(places(run), gradient, of(run, work_));
  }
  to_basis(run);
  kernels::adam_change(moments.constants, rates, places(run), of(run, work_), moments.mean.data(),
                       moments.square.data());
  from_basis(run);
  kernels::subtract_change(rates, places(run), of(run, work_), parameters);
}

template <class T> double *SoapMatrices<T>::pack(int m, double *state) const
{
  *state++ = static_cast<double>(matrices_[m].gradients);
  for (const Side *side : {&left_, &right_})
    for (const Block &block : *side) {
      const auto n = static_cast<std::size_t>(block.length * block.length);
      state = copy_out(block.of(block.covariance, m), n, state);
      state = copy_out(block.of(block.basis, m), n, state);
    }
  return state;
}

template <class T> const double *SoapMatrices<T>::unpack(int m, const double *state)
{
  matrices_[m].gradients = static_cast<std::int64_t>(*state++);
  for (Side *side : {&left_, &right_})
    for (Block &block : *side) {
      const auto n = static_cast<std::size_t>(block.length * block.length);
      state = copy_in(state, n, block.of(block.covariance, m));
      state = copy_in(state, n, block.of(block.basis, m));
    }
  return state;
}

template <class T> std::size_t SoapMatrices<T>::memory_bytes() const
{
  std::size_t bytes = offsets_.memory_bytes() + work_.memory_bytes() + spare_.memory_bytes();
  for (const Side *side : {&left_, &right_})
    for (const Block &block : *side)
      bytes += block.covariance.memory_bytes() + block.basis.memory_bytes() +
               block.product.memory_bytes();
  return bytes;
}

template class SoapMatrices<float>;
template class SoapMatrices<double>;

}  // namespace dptrain
