// fit_energy_bias: which constant energies per atom type explain the frame energies best.

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_lstsq.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/statistics/statistics.h"
#include "statistics/least_squares.h"

namespace dptrain {

std::vector<double> least_squares(const std::vector<double> &a, const std::vector<double> &b,
                                  int width, std::int64_t rows)
{
  const std::int64_t n = static_cast<std::int64_t>(b.size());
  if (n == 0) return std::vector<double>(width, 0.0);
  // copies: ATen takes no const data, and LAPACK overwrites it
  std::vector<double> left = a, right = b;
  const at::Tensor matrix = at::from_blob(left.data(), {n, width}, at::kDouble);
  const at::Tensor rhs = at::from_blob(right.data(), {n, 1}, at::kDouble);
  // gelsd is the SVD solver, the one behind numpy.linalg.lstsq; the same relative cut of singular values
  const double cut = std::numeric_limits<double>::epsilon() * std::max<std::int64_t>(rows, width);
  const at::Tensor solution = std::get<0>(at::linalg_lstsq(matrix, rhs, cut, "gelsd")).contiguous();
  const double *values = solution.data_ptr<double>();
  return std::vector<double>(values, values + width);
}

std::vector<double> fit_energy_bias(const std::vector<double> &counts,
                                    const std::vector<double> &energies, int ntypes)
{
  const std::int64_t frames = static_cast<std::int64_t>(energies.size());
  if (ntypes < 1 || counts.size() != energies.size() * std::size_t(ntypes))
    throw internal_error(fmt::format(
        "Energy bias: {} energies of {} types need as many rows of atom counts", frames, ntypes));
  for (double value : energies)
    if (!std::isfinite(value))
      throw Error("Energy bias: a frame energy is not a finite number: leave the frame out");
  return least_squares(counts, energies, ntypes, frames);
}

}  // namespace dptrain
