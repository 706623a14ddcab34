#include "potential/descriptor/expansion.h"

#include "kernels/layer.h"
#include "potential/nets/gemm.h"

namespace dptrain {

template <class Real>
typename Expansion<Real>::Matrix Expansion<Real>::append(long rows, long columns)
{
  const Matrix matrix{size_, rows, columns};
  size_ += rows * columns;
  return matrix;
}

template <class Real> void Expansion<Real>::prepare(const double *parameters)
{
  parameters_ = parameters;
  if constexpr (!is_float64) kernels::convert(parameters, size_, parameters_copy_.resize(size_));
}

template <class Real> const Real *Expansion<Real>::parameters(const Matrix &c) const
{
  if constexpr (is_float64)
    return parameters_ + c.begin;
  else
    return parameters_copy_.data() + c.begin;
}

template <class Real>
void Expansion<Real>::expand(const Matrix &c, long vectors, const Real *moments, Real *a) const
{
  const FullPrecision full;
  gemm<Real>(false, false, c.rows, vectors, c.columns, 1, parameters(c), moments, 0, a);
}

template <class Real>
void Expansion<Real>::reverse(const Matrix &c, long vectors, const Real *g_a, Real *g_moments) const
{
  const FullPrecision full;
  gemm<Real>(true, false, c.columns, vectors, c.rows, 1, parameters(c), g_a, 0, g_moments);
}

template <class Real> void Expansion<Real>::begin_gradient(double *gradient)
{
  gradient_ = gradient;
  if constexpr (!is_float64) gradient_copy_.resize_clear(size_);
}

template <class Real>
void Expansion<Real>::add_gradient(const Matrix &c, long vectors, const Real *s_a,
                                   const Real *moments, const Real *g_a, const Real *moments_dot)
{
  Real *target;
  if constexpr (is_float64)
    target = gradient_ + c.begin;
  else
    target = gradient_copy_.data() + c.begin;
  const FullPrecision full;
  gemm<Real>(false, true, c.rows, c.columns, vectors, 1, s_a, moments, 1, target);
  gemm<Real>(false, true, c.rows, c.columns, vectors, -1, g_a, moments_dot, 1, target);
}

template <class Real> void Expansion<Real>::flush_gradient()
{
  if constexpr (!is_float64) {
    kernels::add_converted(gradient_copy_.data(), size_, gradient_);
    kernels::clear(gradient_copy_.data(), size_ * sizeof(Real));
  }
}

template <class Real> std::size_t Expansion<Real>::memory_bytes() const
{
  return parameters_copy_.memory_bytes() + gradient_copy_.memory_bytes();
}

template class Expansion<double>;
template class Expansion<float>;

}  // namespace dptrain
