#include "potential/descriptor/nep_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>

namespace dptrain {

namespace {

double factorial(int n)
{
  return std::tgamma(n + 1.0);
}

// Coefficients of real harmonics in a complex one: Y_lm = (-1)^m (R_lm + i R_l-m) / sqrt(2) for m > 0, and its conjugate times (-1)^m
// for -m; and their numbers.
struct Part {
  int harmonic;
  std::complex<double> factor;
};
std::vector<Part> parts_of(int l, int m)
{
  // of the harmonics that are used here, whose squares add up to 1, in orthonormal ones
  const double norm = std::sqrt((2 * l + 1) / (4.0 * std::numbers::pi));
  const int center = l * l + l, size = std::abs(m);
  if (m == 0) return {{center, norm}};
  const double half = norm * std::numbers::sqrt2 / 2.0, sign = m > 0 && m % 2 != 0 ? -1.0 : 1.0;
  return {{center + size, sign * half}, {center - size, {0.0, m > 0 ? sign * half : -half}}};
}

using Polynomial = std::map<std::array<int, 3>, std::complex<double>>;

Polynomial invariant(int l1, int l2, int l3)
{
  Polynomial sum;
  for (int m1 = -l1; m1 <= l1; ++m1)
    for (int m2 = -l2; m2 <= l2; ++m2) {
      const int m3 = -m1 - m2;
      if (std::abs(m3) > l3) continue;
      const double weight = wigner_3j(l1, l2, l3, m1, m2, m3);
      for (const Part &a : parts_of(l1, m1))
        for (const Part &b : parts_of(l2, m2))
          for (const Part &c : parts_of(l3, m3)) {
            std::array<int, 3> place{a.harmonic, b.harmonic, c.harmonic};
            std::sort(place.begin(), place.end());
            sum[place] += weight * a.factor * b.factor * c.factor;
          }
    }
  return sum;
}

}  // namespace

double wigner_3j(int l1, int l2, int l3, int m1, int m2, int m3)
{
  if (m1 + m2 + m3 != 0 || l3 > l1 + l2 || l3 < std::abs(l1 - l2) || std::abs(m1) > l1 ||
      std::abs(m2) > l2 || std::abs(m3) > l3)
    return 0.0;
  const double triangle = factorial(l1 + l2 - l3) * factorial(l1 - l2 + l3) *
                          factorial(-l1 + l2 + l3) / factorial(l1 + l2 + l3 + 1);
  double root = triangle;
  for (const auto &[l, m] : {std::pair(l1, m1), std::pair(l2, m2), std::pair(l3, m3)})
    root *= factorial(l + m) * factorial(l - m);
  double sum = 0.0;
  for (int t = 0; t <= l1 + l2 + l3; ++t) {
    const std::array<int, 6> parts{
        t, l3 - l2 + t + m1, l3 - l1 + t - m2, l1 + l2 - l3 - t, l1 - t - m1, l2 - t + m2};
    if (*std::min_element(parts.begin(), parts.end()) < 0) continue;
    double term = t % 2 ? -1.0 : 1.0;
    for (const int part : parts) term /= factorial(part);
    sum += term;
  }
  return ((l1 - l2 - m3) % 2 ? -1.0 : 1.0) * std::sqrt(root) * sum;
}

NepProducts nep_products(const NepConfig &config)
{
  NepProducts products;
  int block = config.l_max;
  const auto add = [&](bool flag, int l1, int l2, int l3) {
    if (!flag) return;
    constexpr double rounding = 1e-14;
    for (const auto &[place, factor] : invariant(l1, l2, l3))
      if (std::abs(factor.real()) > rounding)
        products.three_fold.push_back({block, place[0], place[1], place[2], factor.real()});
    ++block;
  };
  add(config.has_222, 2, 2, 2);
  if (config.has_1111) products.quartic_block = block++;
  add(config.has_112, 1, 1, 2);
  add(config.has_123, 1, 2, 3);
  add(config.has_233, 2, 3, 3);
  add(config.has_134, 1, 3, 4);
  return products;
}

}  // namespace dptrain
