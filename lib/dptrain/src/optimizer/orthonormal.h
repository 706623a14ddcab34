#pragma once

#include <ATen/core/Tensor.h>

namespace dptrain {

/// Orthonormal columns that span, from the first on, what those of the square matrix `a` [n][n] span: the factor Q of a = Q R, with
/// Householder reflections. Of several matrices [number][n][n], for each.
at::Tensor orthonormal_by_reflections(const at::Tensor &a);

/// The same in matrix products and Cholesky factors, which a GPU does well: shifted CholeskyQR3 (Fukaya et al., SIAM J. Sci. Comput.
/// 42, A477 (2020)) in float64, good where a is not singular to its last digits. The diagonal of R is positive.
at::Tensor orthonormal_by_cholesky(const at::Tensor &a);

/// Those matrices [n][n] or [number][n][n] of `found` all numbers of which are finite, and in place of the others those of `before`.
at::Tensor where_finite(const at::Tensor &found, const at::Tensor &before);

}  // namespace dptrain
