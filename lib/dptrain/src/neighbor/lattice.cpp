#include "neighbor/lattice.h"

#include <cmath>
#include <fmt/format.h>

#include "dptrain/base/error.h"

namespace dptrain {

Lattice::Lattice(const std::array<double, 9> &box) : box_(box)
{
  for (double value : box)
    if (!std::isfinite(value))
      throw Error("The cell of a frame has a number that is not finite: check the box of the "
                  "simulation or box.npy of the data set");
  for (int d = 0; d < 3; ++d) {
    const double *p = &box_[((d + 1) % 3) * 3], *q = &box_[((d + 2) % 3) * 3];
    reciprocal_[d * 3 + 0] = p[1] * q[2] - p[2] * q[1];
    reciprocal_[d * 3 + 1] = p[2] * q[0] - p[0] * q[2];
    reciprocal_[d * 3 + 2] = p[0] * q[1] - p[1] * q[0];
    length_[d] = std::sqrt(box[d * 3] * box[d * 3] + box[d * 3 + 1] * box[d * 3 + 1] +
                           box[d * 3 + 2] * box[d * 3 + 2]);
  }
  const double volume = box[0] * reciprocal_[0] + box[1] * reciprocal_[1] + box[2] * reciprocal_[2];
  if (!(std::abs(volume) > 1e-12 * length_[0] * length_[1] * length_[2]))
    throw Error(
        fmt::format("The cell of a frame has no volume ({} Angstrom^3): its three vectors must not "
                    "lie in a plane; a frame without a cell needs the file `nopbc` beside type.raw",
                    volume));
  volume_ = std::abs(volume);
  for (int d = 0; d < 3; ++d) {
    double norm = 0.0;
    for (int c = 0; c < 3; ++c) {
      reciprocal_[d * 3 + c] /= volume;
      norm += reciprocal_[d * 3 + c] * reciprocal_[d * 3 + c];
    }
    height_[d] = 1.0 / std::sqrt(norm);
  }
}

std::array<double, 3> Lattice::fractional(const double *x) const
{
  std::array<double, 3> f;
  for (int d = 0; d < 3; ++d)
    f[d] =
        x[0] * reciprocal_[d * 3] + x[1] * reciprocal_[d * 3 + 1] + x[2] * reciprocal_[d * 3 + 2];
  return f;
}

void Lattice::shift(double *x, const std::array<int, 3> &n) const
{
  for (int d = 0; d < 3; ++d)
    if (n[d] != 0)
      for (int c = 0; c < 3; ++c) x[c] += n[d] * box_[d * 3 + c];
}

}  // namespace dptrain
