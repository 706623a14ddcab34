#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "kernels/memory.h"
#include "kernels/runtime.h"

namespace dptrain::test {

using Vec = std::vector<double>;

/// Rounding of a kernel's sums relative to the largest term: some tens of units in the last place.
template <class Real> constexpr double rounding = sizeof(Real) == 8 ? 1e-13 : 2e-5;

/// Normal numbers that both precisions can hold, so that their results can be compared with one reference.
inline Vec random_vector(std::size_t n, RandomEngine &engine)
{
  Vec v(n);
  for (double &x : v) x = static_cast<float>(random_normal(engine));
  return v;
}

inline double dot(const Vec &a, const Vec &b)
{
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline double largest(const Vec &v)
{
  double most = 0.0;
  for (double x : v) most = std::max(most, std::abs(x));
  return most;
}

/// a + factor * b
inline Vec moved(const Vec &a, double factor, const Vec &b)
{
  Vec sum = a;
  for (std::size_t k = 0; k < a.size(); ++k) sum[k] += factor * b[k];
  return sum;
}

/// The numbers in the memory of the kernels and in their precision.
template <class T, class From> kernels::Array<T> in_kernels(const std::vector<From> &host)
{
  ensure_runtime();
  kernels::Array<T> array;
  array.copy_from(std::vector<T>(host.begin(), host.end()));
  return array;
}

/// An array of zeros in the memory of the kernels.
template <class T> kernels::Array<T> zeros(std::size_t n)
{
  return in_kernels<T>(Vec(n, 0.0));
}

template <class T> Vec to_host(const kernels::Array<T> &array)
{
  const std::vector<T> host = array.to_host();
  return Vec(host.begin(), host.end());
}

/// Fails where two arrays differ by more than `tolerance` times the largest number of the second.
inline void expect_close(const Vec &found, const Vec &expected, double tolerance,
                         const char *what = "")
{
  ASSERT_EQ(found.size(), expected.size()) << what;
  const double limit = tolerance * (largest(expected) + 1e-300);
  for (std::size_t k = 0; k < found.size(); ++k)
    EXPECT_NEAR(found[k], expected[k], limit) << what << " at " << k;
}

/// The same bits, on a host. On a device kernels add to shared sums in any order, which differs from launch to launch: there the
/// numbers agree to the rounding of such sums, `rounding` of the largest.
inline void expect_same_sums(const Vec &found, const Vec &expected, double rounding = 1e-13)
{
  if (kernels::separate_memory())
    expect_close(found, expected, rounding);
  else
    EXPECT_EQ(found, expected);
}

using Precisions = testing::Types<double, float>;

struct PrecisionName {
  template <class Real> static std::string GetName(int)
  {
    return sizeof(Real) == 8 ? "float64" : "float32";
  }
};

}  // namespace dptrain::test
