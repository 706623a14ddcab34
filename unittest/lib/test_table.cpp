// The quintic table: interpolation, the two forms, the transpose of filling, and the estimate of the error.
#include "kernels/table.h"
#include "kernels/table_read.h"
#include "support/edge_data.h"

namespace dptrain::test {
namespace {

constexpr int width = 8, knots = Polynomials::knots, channels = Polynomials::channels;

template <class Real> Vec filled(const Vec &jets)
{
  auto rows = in_kernels<Real>(Vec(kernels::table_net_size<Real>(knots, 2, width), 9.0));
  kernels::fill_table(in_kernels<double>(jets).data(), knots, 2, channels, width, rows.data());
  return to_host(rows);
}

/// Value and slope that the table of one net gives for channel m.
template <class Real> std::array<double, 2> read_at(const Vec &numbers, double argument, int m)
{
  kernels::Table<Real> table;
  table.origin = Polynomials::origin;
  table.inv_spacing = static_cast<Real>(1.0 / Polynomials::spacing);
  table.intervals = knots - 1;
  const auto read = kernels::table_read(table, static_cast<Real>(argument));
  const double *row = &numbers[read.interval * kernels::rows_per_interval<Real> * width + m];
  std::array<double, 2> sum{};
  for (int k = 0; k < 6; ++k) {
    sum[0] += read.w[k] * row[k * width];
    sum[1] += read.dw[k] * row[k * width];
  }
  return sum;
}

template <class Real> class TableTest : public testing::Test {
 protected:
  RandomEngine engine_{3};
  Polynomials polynomials_{engine_};
};
TYPED_TEST_SUITE(TableTest, Precisions, PrecisionName);

TYPED_TEST(TableTest, QuinticPolynomialsAreExact)
{
  const Vec table = filled<TypeParam>(this->polynomials_.jets(1));
  const double end = Polynomials::origin + (knots - 1) * Polynomials::spacing;
  for (double x : {Polynomials::origin, -0.4, 0.25, 0.3, 3.3, 7.77, end - 1e-3, end})
    for (int m = 0; m < channels; ++m) {
      const auto found = read_at<TypeParam>(table, x, m);
      EXPECT_NEAR(found[0], this->polynomials_.at(1, m, x), 20 * rounding<TypeParam>) << x;
      EXPECT_NEAR(found[1], this->polynomials_.at(1, m, x, 1), 20 * rounding<TypeParam>) << x;
    }
}

TYPED_TEST(TableTest, PaddingRowsAndZerosBehindTheChannels)
{
  const Vec table = filled<TypeParam>(this->polynomials_.jets(1));
  const std::size_t padding = table.size() - 2 * width;
  for (int row = 0; row < 2; ++row)
    for (int m = 0; m < channels; ++m)
      EXPECT_NEAR(table[padding + row * width + m],
                  this->polynomials_.at(1, m, this->polynomials_.padding[row]),
                  rounding<TypeParam>);
  for (std::size_t k = 0; k < table.size(); ++k)
    if (k % width >= channels) {
      EXPECT_EQ(table[k], 0.0) << k;
    }
}

// Arguments outside read the nearest interval, not memory beyond the table.
TYPED_TEST(TableTest, OutsideTheNearestIntervalIsRead)
{
  kernels::Table<TypeParam> table;
  table.intervals = 5;
  EXPECT_EQ(kernels::table_read(table, TypeParam(-3.5)).interval, 0);
  EXPECT_EQ(kernels::table_read(table, TypeParam(-0.5)).interval, 0);
  EXPECT_EQ(kernels::table_read(table, TypeParam(4.5)).interval, 4);
  EXPECT_EQ(kernels::table_read(table, TypeParam(5)).interval, 4);
  EXPECT_EQ(kernels::table_read(table, TypeParam(1000)).interval, 4);
}

// x . fill(j) = fill^T(x) . j for every number of the table and every jet.
TYPED_TEST(TableTest, GradientIsTheTransposeOfFilling)
{
  const std::size_t n = 3 * (knots + 2) * channels;
  for (int k = 0; k < 5; ++k) {
    // jets of random numbers; of the padding rows only the values count
    const Vec jets = random_vector(n, this->engine_);
    const Vec table = filled<TypeParam>(jets);
    const Vec x = random_vector(table.size(), this->engine_);
    auto gradient = in_kernels<double>(Vec(n, 5.0));
    kernels::table_gradient(in_kernels<TypeParam>(x).data(), knots, 2, channels, width,
                            gradient.data());
    const Vec found = to_host(gradient);
    // numbers behind the channels are zero in the table and ignored in its gradient
    const double forward = dot(x, table);
    EXPECT_NEAR(forward, dot(found, jets), 10 * rounding<TypeParam> * std::sqrt(1.0 * n) * 10);
    for (int order = 1; order < 3; ++order)
      for (int m = 0; m < 2 * channels; ++m)
        EXPECT_EQ(found[order * (knots + 2) * channels + knots * channels + m], 0.0);
  }
}

TEST(Table, PolynomialFormEqualsHermiteForm)
{
  RandomEngine engine(8);
  const Vec jets = random_vector(3 * (knots + 2) * channels, engine);  // not of one polynomial
  const Vec hermite = filled<double>(jets), polynomial = filled<float>(jets);
  for (int k = 0; k < 200; ++k) {
    const double x = static_cast<float>(Polynomials::origin + 0.0449 * k);
    for (int m = 0; m < channels; ++m) {
      const auto a = read_at<double>(hermite, x, m), b = read_at<float>(polynomial, x, m);
      // coefficients of up to 50 in float32
      EXPECT_NEAR(a[0], b[0], 3e-5) << x;
      EXPECT_NEAR(a[1], b[1], 3e-4) << x;
    }
  }
}

// Interpolating x^6 in [k, k + 1] leaves u^3 (u - 1)^3, whose largest value is 1/64, at u = 1/2, and whose largest slope
// is 3 u^2 (u - 1)^2 (2 u - 1) at u = 1/2 +- 1/sqrt(20).
TEST(Table, ErrorIsThatOfTheSixthPower)
{
  constexpr int n = 4;
  Vec jets(3 * (n + 1)), exact;
  for (int k = 0; k < n; ++k) {
    jets[k] = std::pow(k, 6);
    jets[n + 1 + k] = 6 * std::pow(k, 5);
    jets[2 * (n + 1) + k] = 30 * std::pow(k, 4);
  }
  for (int order = 0; order < 2; ++order)
    for (int k = 0; k + 1 < n; ++k)
      for (double u : kernels::table_check_points)
        exact.push_back(order == 0 ? std::pow(k + u, 6) : 6 * std::pow(k + u, 5));
  const auto [value, slope] = kernels::table_error(jets.data(), n, 1, 1, exact.data());
  double largest_value = 0.0, largest_slope = 0.0;
  for (std::size_t k = 0; k < exact.size() / 2; ++k) {
    largest_value = std::max(largest_value, exact[k]);
    largest_slope = std::max(largest_slope, exact[exact.size() / 2 + k]);
  }
  const double u = 0.5 + 1.0 / std::sqrt(20.0);
  EXPECT_NEAR(value, 1.0 / 64.0 / largest_value, 1e-13);
  EXPECT_NEAR(slope, 3 * u * u * (u - 1) * (u - 1) * (2 * u - 1) / largest_slope, 1e-13);
}

}  // namespace
}  // namespace dptrain::test
