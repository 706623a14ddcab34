#include "data/frame_values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>

#include "dptrain/base/error.h"

namespace dptrain {

void expect_finite(const double *values, std::size_t count, std::size_t per_atom,
                   const std::string &where)
{
  const double *bad =
      std::find_if(values, values + count, [](double value) { return !std::isfinite(value); });
  if (bad == values + count) return;
  const auto index = static_cast<std::size_t>(bad - values);
  const std::string place =
      per_atom > 0 ? fmt::format("atom {}, component {}", index / per_atom, index % per_atom)
                   : fmt::format("component {}", index);
  throw Error(fmt::format("{}: {} is {}, not a finite number; remove the frame or repair the file",
                          where, place, *bad));
}

double volume_of(const std::array<double, 9> &b)
{
  return b[0] * (b[4] * b[8] - b[5] * b[7]) + b[1] * (b[5] * b[6] - b[3] * b[8]) +
         b[2] * (b[3] * b[7] - b[4] * b[6]);
}

void expect_volume(const std::array<double, 9> &box, const std::string &where)
{
  double product = 1.0;
  for (int edge = 0; edge < 3; ++edge)
    product *= std::hypot(box[3 * edge], box[3 * edge + 1], box[3 * edge + 2]);
  // the bound of the neighbor search
  if (std::abs(volume_of(box)) > 1e-12 * product) return;
  std::string text;
  for (const double value : box) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%g", text.empty() ? "" : " ", value);
    text += number;
  }
  throw Error(fmt::format(
      "{}: the cell ({}) has no volume; it needs three vectors that do not lie in a plane", where,
      text));
}

}  // namespace dptrain
