#include "optimizer/orthonormal.h"

#include <limits>
#include <tuple>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>

namespace dptrain {

at::Tensor orthonormal_by_reflections(const at::Tensor &a)
{
  return std::get<0>(at::linalg_qr(a));
}

at::Tensor orthonormal_by_cholesky(const at::Tensor &a)
{
  const double n = static_cast<double>(a.size(-1));
  const double shift = 11.0 * n * (2.0 * n + 1.0) * std::numeric_limits<double>::epsilon() / 2.0;
  at::Tensor q = a.to(at::kDouble);
  // the first one makes a matrix that the other two can take
  for (int pass = 0; pass < 3; ++pass) {
    const at::Tensor products = at::matmul(q.mT(), q);
    at::Tensor diagonal = products.diagonal(0, -2, -1);
    if (pass == 0) diagonal.add_(diagonal.sum(-1, /*keepdim=*/true), shift);
    const at::Tensor upper = std::get<0>(at::linalg_cholesky_ex(products, /*upper=*/true));
    q = at::linalg_solve_triangular(upper, q, /*upper=*/true, /*left=*/false);
  }
  return q;
}

at::Tensor where_finite(const at::Tensor &found, const at::Tensor &before)
{
  const at::Tensor good = found.isfinite().flatten(-2).all(-1, /*keepdim=*/true).unsqueeze(-1);
  return at::where(good, found, before);
}

}  // namespace dptrain
