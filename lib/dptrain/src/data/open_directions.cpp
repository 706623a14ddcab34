#include "data/open_directions.h"

#include <algorithm>
#include <cmath>

namespace dptrain {

namespace {

constexpr double vacuum = 100.0;  // Angstrom

using Vector = std::array<double, 3>;

Vector cross(const Vector &a, const Vector &b)
{
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Vector unit(const Vector &a)
{
  const double length = std::hypot(a[0], a[1], a[2]);
  return {a[0] / length, a[1] / length, a[2] / length};
}

/// Distance between the outermost atoms along a direction.
double extent(const std::vector<double> &coord, const Vector &direction)
{
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (std::size_t i = 0; i + 2 < coord.size(); i += 3) {
    const double x =
        coord[i] * direction[0] + coord[i + 1] * direction[1] + coord[i + 2] * direction[2];
    low = std::min(low, x);
    high = std::max(high, x);
  }
  return std::max(0.0, high - low);
}

/// Any direction perpendicular to `a`.
Vector perpendicular(const Vector &a)
{
  // with the axis to which a is least parallel
  Vector axis{};
  std::size_t least = 0;
  for (std::size_t d = 1; d < 3; ++d)
    if (std::abs(a[d]) < std::abs(a[least])) least = d;
  axis[least] = 1.0;
  return unit(cross(a, axis));
}

}  // namespace

std::array<double, 9> add_vacuum(const std::array<double, 9> &box,
                                 const std::array<bool, 3> &periodic,
                                 const std::vector<double> &coord)
{
  std::array<Vector, 3> edges;
  for (std::size_t d = 0; d < 3; ++d) edges[d] = {box[3 * d], box[3 * d + 1], box[3 * d + 2]};
  const auto replace = [&](std::size_t d, const Vector &direction) {
    const double length = extent(coord, direction) + vacuum;
    for (std::size_t c = 0; c < 3; ++c) edges[d][c] = direction[c] * length;
  };
  if (std::count(periodic.begin(), periodic.end(), true) == 1) {
    const auto kept = static_cast<std::size_t>(std::find(periodic.begin(), periodic.end(), true) -
                                               periodic.begin());
    const Vector first = perpendicular(edges[kept]);
    replace((kept + 1) % 3, first);
    replace((kept + 2) % 3, unit(cross(edges[kept], first)));
  } else {
    const auto open = static_cast<std::size_t>(std::find(periodic.begin(), periodic.end(), false) -
                                               periodic.begin());
    replace(open, unit(cross(edges[(open + 1) % 3], edges[(open + 2) % 3])));
  }
  std::array<double, 9> cell;
  for (std::size_t k = 0; k < 9; ++k) cell[k] = edges[k / 3][k % 3];
  return cell;
}

}  // namespace dptrain
