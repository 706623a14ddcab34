#pragma once

#include <type_traits>
#include <utility>

namespace dptrain::kernels {

/// The jets themselves, [knot][3][width]: an interval reads those of its two knots, six consecutive rows.
struct HermiteLayout {
  static constexpr int rows_per_interval = 3;  ///< between the starts of two intervals
  static constexpr int blocks(int knots) { return knots; }
};

/// Coefficients of the polynomial of each interval, [interval][6][width], made in float64.
struct PolynomialLayout {
  static constexpr int rows_per_interval = 6;
  static constexpr int blocks(int knots) { return knots - 1; }
};

/// How a table is laid out: in float32 as polynomials, as differences of close knots would lose what it has.
template <class Real>
using TableLayout =
    std::conditional_t<std::is_same_v<Real, double>, HermiteLayout, PolynomialLayout>;

/// Quintic table of functions of one argument at knots origin + k h, from their jets G, h G', h^2 G'' in float64: of several
/// nets, each with many channels. Behind the knots of each net stand the values at the padding arguments, if there are any,
/// [num_padding][width]. `width` is padded_width() of the number of channels; the extra channels are zero.
template <class Real> struct Table {
  Real origin = 0, inv_spacing = 1;
  int intervals = 0;
  int width = 0;
  long net_size = 0;        ///< numbers per net
  long padding_offset = 0;  ///< from the start of a net
  const Real *rows = nullptr;
  /// Every slot of the chunk is an interval of its own, read at its first knot.
  bool direct = false;
};

template <class Real> constexpr int rows_per_interval = TableLayout<Real>::rows_per_interval;

/// The size of one net's table.
template <class Real> constexpr long table_net_size(int knots, int num_padding, int width)
{
  const long rows = static_cast<long>(rows_per_interval<Real>) * TableLayout<Real>::blocks(knots);
  return (rows + num_padding) * width;
}

/// Channels rounded up to whole vectors of 64 bytes.
template <class Real> constexpr int padded_width(int channels)
{
  constexpr int lanes = 64 / sizeof(Real);
  return (channels + lanes - 1) / lanes * lanes;
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
