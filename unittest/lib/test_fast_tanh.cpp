// The tanh of the kernels against that of the standard library in long double.
#include "kernels/fast_tanh.h"

#include <limits>

#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

template <class Real> class FastTanhTest : public testing::Test {
};
TYPED_TEST_SUITE(FastTanhTest, Precisions, PrecisionName);

TYPED_TEST(FastTanhTest, RelativeErrorOverAllMagnitudes)
{
  using Real = TypeParam;
  long double worst = 0.0L;
  Real at = 0;
  const auto check = [&](Real x) {
    const long double exact = std::tanh(static_cast<long double>(x));
    const long double error = std::abs((kernels::fast_tanh(x) - exact) / exact);
    if (error > worst) {
      worst = error;
      at = x;
    }
    EXPECT_EQ(kernels::fast_tanh(-x), -kernels::fast_tanh(x)) << x;
  };
  // from below the rounding of any |x| - x^3 / 3 to where tanh is one; not the denormal numbers
  const int lowest = sizeof(Real) == 8 ? -300 : -37;
  for (int power = lowest; power <= 3; ++power)
    for (int k = 0; k < 200; ++k) check(static_cast<Real>(std::pow(10.0L, power + k / 200.0L)));
  for (int k = 1; k <= 40000; ++k) check(static_cast<Real>(k * 5.3e-4L));
  // found: 3.3e-16 and 1.5e-7
  EXPECT_LT(worst, sizeof(Real) == 8 ? 1e-15L : 3e-7L) << "at " << at;
}

TYPED_TEST(FastTanhTest, SpecialValues)
{
  using Real = TypeParam;
  using Limits = std::numeric_limits<Real>;
  EXPECT_EQ(kernels::fast_tanh(Real(0)), Real(0));
  EXPECT_FALSE(std::signbit(kernels::fast_tanh(Real(0))));
  EXPECT_EQ(kernels::fast_tanh(-Real(0)), Real(0));
  EXPECT_TRUE(std::signbit(kernels::fast_tanh(-Real(0))));
  EXPECT_EQ(kernels::fast_tanh(Limits::infinity()), Real(1));
  EXPECT_EQ(kernels::fast_tanh(-Limits::infinity()), Real(-1));
  EXPECT_EQ(kernels::fast_tanh(Limits::max()), Real(1));
  EXPECT_TRUE(std::isnan(kernels::fast_tanh(Limits::quiet_NaN())));
}

// Never beyond one, and monotonic within its error.
TYPED_TEST(FastTanhTest, StaysWithinOne)
{
  using Real = TypeParam;
  Real before = 0;
  for (int k = 0; k <= 30000; ++k) {
    const Real t = kernels::fast_tanh(static_cast<Real>(k * 1e-3));
    EXPECT_LE(t, Real(1)) << k;
    EXPECT_GE(t, before * (Real(1) - 4 * std::numeric_limits<Real>::epsilon())) << k;
    before = t;
  }
  EXPECT_EQ(before, Real(1));
}

}  // namespace
}  // namespace dptrain::test
