#pragma once

#include <utility>

namespace dptrain::kernels {

/// Quintic table of the embedding nets at knots origin + k h, from their jets G, h G', h^2 G'' in float64.
///
/// float64: Hermite rows [net][knot][3][width]; an interval reads those of its two knots, six consecutive rows.
/// float32: polynomial coefficients [net][interval][6][width] made in float64, as differences of close knots would lose
/// what float32 has. Behind the knots of each net stand the values at the padding arguments, [num_padding][width].
/// `width` is the number of channels rounded up to whole vectors; the extra channels are zero.
template <class Real> struct Table {
  Real origin = 0, inv_spacing = 1;
  int intervals = 0;
  int width = 0;
  long net_size = 0;        ///< numbers per net
  long padding_offset = 0;  ///< from the start of a net
  const Real *rows = nullptr;
  bool direct =
      false;  ///< every slot of the chunk is an interval of its own, read at its first knot
};

/// Rows between the starts of two intervals: neighboring intervals share a knot in the Hermite form.
template <class Real> constexpr int rows_per_interval = sizeof(Real) == 8 ? 3 : 6;

/// The size of one net's table.
template <class Real> constexpr long table_net_size(int knots, int num_padding, int width)
{
  const long rows = sizeof(Real) == 8 ? 3L * knots : 6L * (knots - 1);
  return (rows + num_padding) * width;
}

/// Fills the table of one net from jets [3][knots + num_padding][channels] in units of the spacing; padding arguments last.
template <class Real>
void fill_table(const double *jets, int knots, int num_padding, int channels, int width,
                Real *rows);

/// The transpose: jet gradients [3][knots + num_padding][channels] in float64 from the gradient of the table.
template <class Real>
void table_gradient(const Real *rows, int knots, int num_padding, int channels, int width,
                    double *jets);

/// Places inside an interval where the interpolation error is largest: of G, and twice of G' (1/2 -+ 1/sqrt(20)).
constexpr double table_check_points[3] = {0.5, 0.5 - 0.22360679774997896,
                                          0.5 + 0.22360679774997896};

/// Largest interpolation error relative to the largest value, of G and of G', on the host. jets as in fill_table;
/// exact [2][3 * (knots - 1)][channels]: value and slope (in units of the spacing) at the check points of each interval.
std::pair<double, double> table_error(const double *jets, int knots, int num_padding, int channels,
                                      const double *exact);

}  // namespace dptrain::kernels
