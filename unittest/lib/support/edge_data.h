#pragma once

#include <array>

#include "kernel_data.h"
#include "kernels/contraction.h"

namespace dptrain::test {

/// Jets of random quintic polynomials, which quintic interpolation reproduces exactly: [net][channel] p(x / 8).
struct Polynomials {
  static constexpr int nets = 2, channels = 6, knots = 13;
  static constexpr double origin = -0.5, spacing = 0.75;
  Vec padding{-0.375, -0.5};
  Vec coefficients;

  explicit Polynomials(RandomEngine &engine) :
      coefficients(random_vector(nets * channels * 6, engine))
  {
  }
  /// The derivative of the given order by the argument.
  double at(int net, int channel, double x, int order = 0) const
  {
    const double *c = &coefficients[(net * channels + channel) * 6];
    double sum = 0.0;
    for (int k = 5; k >= order; --k) {
      double factor = c[k];
      for (int l = 0; l < order; ++l) factor *= (k - l) / 8.0;
      sum = sum * (x / 8.0) + factor;
    }
    return sum;
  }
  /// [3][knots + padding][channels] in units of the spacing.
  Vec jets(int net) const
  {
    Vec all;
    for (int order = 0; order < 3; ++order)
      for (std::size_t k = 0; k < knots + padding.size(); ++k)
        for (int m = 0; m < channels; ++m) {
          const double x = k < knots ? origin + k * spacing : padding[k - knots];
          all.push_back(std::pow(spacing, order) * at(net, m, x, order));
        }
    return all;
  }
};

/// Two frames of four atoms; three centers with three, no and four edges, and unused slots between them.
struct EdgePlan {
  static constexpr int centers = 3, slots = 10, atoms = 8, frames = 2, ntypes = 2;
  std::vector<int> center{1, 0, 5}, frame{0, 0, 1}, first{0, 4, 5}, count{3, 0, 4};
  std::vector<int> neighbor{0, 2, 3, -1, -1, 4, 6, 7, 4, -1}, type{0, 0, 1, 7, 7, 1, 0, 1, 1, 7};
  Vec empty{2, 0, 3, 4, 0, 1};
  Vec d[3];  ///< distances on both sides of rcut_smth

  explicit EdgePlan(RandomEngine &engine)
  {
    const double r[slots] = {0.75, 1.3, 2.9, 1, 1, 0.95, 2.2, 3.3, 1.7, 1};
    for (int k = 0; k < slots; ++k) {
      const Vec v = random_vector(3, engine);
      for (int a = 0; a < 3; ++a)
        d[a].push_back(static_cast<float>(v[a] * r[k] / std::sqrt(dot(v, v))));
    }
  }
  /// f(i, e) for all used slots e of all centers i.
  template <class F> void for_edges(const F &f) const
  {
    for (int i = 0; i < centers; ++i)
      for (int e = first[i]; e < first[i] + count[i]; ++e) f(i, e);
  }
  /// r_j - r_i + C d by slot and component.
  Vec tangents(const Vec &r, const Vec &strain) const
  {
    Vec u(3 * slots, 0.0);
    for_edges([&](int i, int e) {
      for (int a = 0; a < 3; ++a) {
        u[3 * e + a] = r[3 * neighbor[e] + a] - r[3 * center[i] + a];
        for (int b = 0; b < 3; ++b) u[3 * e + a] += strain[9 * frame[i] + 3 * a + b] * d[b][e];
      }
    });
    return u;
  }
};

constexpr double test_rcut = 3.5, test_smth = 0.8, test_protection = 0.01, test_avg = 0.05,
                 test_radial = 0.14, test_angular = 0.09;

/// The environment row by the definition of DeePMD-kit: first (s - davg) / dstd, then the factor of d.
inline std::array<double, 2> environment_by_definition(double r)
{
  const double u = std::fmin(std::fmax((r - test_smth) / (test_rcut - test_smth), 0.0), 1.0);
  const double w = u * u * u * (-6.0 * u * u + 15.0 * u - 10.0) + 1.0, p = r + test_protection;
  return {(w / p - test_avg) / test_radial, w / (p * p) / test_angular};
}

/// What the contraction kernels read, in their memory. Empty unused slots hold numbers that must not be read.
template <class Real> struct EdgeArrays {
  explicit EdgeArrays(const EdgePlan &plan) :
      center(in_kernels<int>(plan.center)),
      frame(in_kernels<int>(plan.frame)),
      first(in_kernels<int>(plan.first)),
      count(in_kernels<int>(plan.count)),
      neighbor(in_kernels<int>(plan.neighbor)),
      type(in_kernels<int>(plan.type)),
      empty(in_kernels<Real>(plan.empty))
  {
    for (int a = 0; a < 3; ++a) d[a] = in_kernels<Real>(plan.d[a]);
  }
  kernels::Edges<Real> view()
  {
    kernels::Edges<Real> e;
    e.num_centers = EdgePlan::centers;
    e.max_count = 4;
    e.ntypes = EdgePlan::ntypes;
    e.centers = center.data();
    e.frame = frame.data();
    e.first = first.data();
    e.count = count.data();
    e.neighbor = neighbor.data();
    e.type = type.data();
    for (int a = 0; a < 3; ++a) e.d[a] = d[a].data();
    e.empty = empty.data();
    return e;
  }
  kernels::Array<int> center, frame, first, count, neighbor, type;
  kernels::Array<Real> d[3], empty;
};

}  // namespace dptrain::test
