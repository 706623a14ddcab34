#pragma once

#include <cstdint>
#include <vector>

namespace dptrain {

/// The x [width] of minimum norm with least |A x - b|, as numpy.linalg.lstsq finds it; rows [n][width] of A, b [n].
/// Singular values are cut as for a matrix of `rows` rows. Zeros without any row.
std::vector<double> least_squares(const std::vector<double> &a, const std::vector<double> &b,
                                  int width, std::int64_t rows);

}  // namespace dptrain
