#include "neighbor/cell_grid.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "dptrain/base/error.h"

namespace dptrain {

CellGrid make_cell_grid(const double *x, int n, double rcut)
{
  CellGrid grid;
  double high[3];
  for (int c = 0; c < 3; ++c) {
    grid.low[c] = n > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    high[c] = n > 0 ? -std::numeric_limits<double>::infinity() : 0.0;
  }
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < 3; ++c) {
      const double value = x[3L * i + c];
      if (!std::isfinite(value))
        throw Error(
            fmt::format("Atom {} of the frame has a coordinate that is not a finite number: the "
                        "simulation or the data set is broken there; check the time step, the "
                        "start configuration and the model, or leave the frame out",
                        i));
      grid.low[c] = std::min(grid.low[c], value);
      high[c] = std::max(high[c], value);
    }
  const double max_cells = 4.0 * n + 4096.0;
  double size = rcut * (1.0 + 1e-6);  // wider than the rounding of a cell's index
  for (;; size *= 1.26) {
    double total = 1.0;
    for (int c = 0; c < 3; ++c) total *= std::floor((high[c] - grid.low[c]) / size) + 1.0;
    if (total <= max_cells) break;
  }
  grid.inv_size = 1.0 / size;
  for (int c = 0; c < 3; ++c)
    grid.count[c] = static_cast<int>((high[c] - grid.low[c]) * grid.inv_size) + 1;
  return grid;
}

}  // namespace dptrain
