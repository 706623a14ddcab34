// Terms of the loss against their definition, derivatives against finite differences.

#include "training/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "support/scratch.h"

namespace dptrain::test {

namespace {

// Rounding of differences of numbers near 10; within one branch the penalties are polynomials of degree 2 at most, so that
// central differences have no other error. Lengths have one of STEP^2.
constexpr double STEP = 1e-4, TOLERANCE = 1e-9, LENGTH_TOLERANCE = 1e-6;
constexpr double DELTA = 0.15;

LossConfig config(LossFunction function)
{
  LossConfig c;
  c.function = function;
  c.huber_delta = {0.05, DELTA, 0.1};
  return c;
}

double huber(double x, double delta)
{
  return std::fabs(x) <= delta ? 0.5 * x * x : delta * (std::fabs(x) - 0.5 * delta);
}

/// dL/dx[k] against differences of `value`.
void expect_slopes(const std::vector<double> &slope, const std::vector<double> &x,
                   const std::function<double(const std::vector<double> &)> &value,
                   double tolerance = TOLERANCE)
{
  ASSERT_EQ(slope.size(), x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    auto up = x, down = x;
    up[k] += STEP;
    down[k] -= STEP;
    EXPECT_NEAR(slope[k], (value(up) - value(down)) / (2 * STEP), tolerance) << k;
  }
}

struct Forces {
  std::vector<double> label{1, 2, 3, 4, 5, 6}, force{1.5, 2.1, 2, 4.05, 5.25, 6.11};
  std::vector<double> pref{0.5, 2.0};
  Deviation deviation, weighted;
  Prefactors weights;

  Forces()
  {
    weights.force = 10.0;
    weights.atom_pref = 3.0;
  }
  /// 2 of the 4 atoms are here.
  double value(const Loss &loss, std::vector<double> &f, bool with_pref)
  {
    deviation = weighted = {};
    return loss.forces(weights, 4, 2, label.data(), with_pref ? pref.data() : nullptr, f.data(),
                       deviation, weighted);
  }
  void check_slopes(const Loss &loss, bool with_pref, double tolerance = TOLERANCE)
  {
    std::vector<double> residual = force;
    value(loss, residual, with_pref);
    expect_slopes(
        residual, force,
        [&](std::vector<double> f) { return Forces(*this).value(loss, f, with_pref); }, tolerance);
  }
};

}  // namespace

TEST(Loss, PrefactorsFollowTheLearningRate)
{
  LossConfig config;
  config.start_pref_v = 0.5;  // limit 0: off
  config.start_pref_gf = 3.0;
  config.limit_pref_gf = 1.0;
  config.start_pref_ae = config.limit_pref_ae = 0.25;
  config.start_pref_pf = config.limit_pref_pf = 4.0;
  const Prefactors first = prefactors_at(config, 1e-3, 1e-3),
                   last = prefactors_at(config, 0.0, 1e-3),
                   half = prefactors_at(config, 5e-4, 1e-3);
  EXPECT_NEAR(first.energy, 0.02, 1e-15);  // limit + (start - limit) rounds
  EXPECT_DOUBLE_EQ(first.force, 1000.0);
  EXPECT_DOUBLE_EQ(last.energy, 1.0);
  EXPECT_DOUBLE_EQ(last.force, 1.0);
  EXPECT_DOUBLE_EQ(half.energy, 0.51);
  EXPECT_DOUBLE_EQ(half.force, 500.5);
  EXPECT_EQ(first.virial, 0.0);
  EXPECT_EQ(half.virial, 0.0);
  EXPECT_EQ(half.generalized, 2.0);
  EXPECT_EQ(half.atom_energy, 0.25);
  EXPECT_EQ(half.atom_pref, 4.0);
}

TEST(Loss, EnergyTerm)
{
  double derivative = 0.0;
  LossConfig c = config(LossFunction::mse);
  EXPECT_DOUBLE_EQ(Loss(c).energy(3.0, 7, 0.4, derivative), 3.0 * 0.16 / 7.0);
  c.intensive_ener_virial = true;
  EXPECT_DOUBLE_EQ(Loss(c).energy(3.0, 7, 0.4, derivative), 3.0 * 0.16 / 49.0);
  c.function = LossFunction::mae;  // the same for both settings
  EXPECT_DOUBLE_EQ(Loss(c).energy(3.0, 7, -0.4, derivative), 3.0 * 0.4 / 7.0);
  c.function = LossFunction::huber;
  EXPECT_DOUBLE_EQ(Loss(c).energy(3.0, 7, -0.3, derivative), 3.0 * huber(0.3 / 7, 0.05));
  EXPECT_DOUBLE_EQ(Loss(c).energy(3.0, 7, 0.4, derivative), 3.0 * huber(0.4 / 7, 0.05));
  for (const auto function : {LossFunction::mse, LossFunction::mae, LossFunction::huber})
    for (const double error : {-0.3, 0.4}) {
      const Loss loss(config(function));
      loss.energy(3.0, 7, error, derivative);
      expect_slopes({derivative}, {error}, [&](const std::vector<double> &x) {
        double unused;
        return loss.energy(3.0, 7, x[0], unused);
      });
    }
}

TEST(Loss, VirialTerm)
{
  const std::array<double, 9> error{0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9};
  std::array<double, 9> derivative;
  LossConfig c = config(LossFunction::mse);
  EXPECT_DOUBLE_EQ(Loss(c).virial(2.0, 5, error, derivative), 2.0 * 2.85 / 9.0 / 5.0);
  c.intensive_ener_virial = true;
  EXPECT_DOUBLE_EQ(Loss(c).virial(2.0, 5, error, derivative), 2.0 * 2.85 / 9.0 / 25.0);
  double sum = 0.0;
  for (double x : error) sum += huber(x / 5, 0.1);
  EXPECT_DOUBLE_EQ(Loss(config(LossFunction::mae)).virial(2.0, 5, error, derivative),
                   2.0 * 4.5 / 9.0 / 5.0);
  EXPECT_DOUBLE_EQ(Loss(config(LossFunction::huber)).virial(2.0, 5, error, derivative),
                   2.0 * sum / 9.0);
  for (const auto function : {LossFunction::mse, LossFunction::mae, LossFunction::huber}) {
    const Loss loss(config(function));
    std::array<double, 9> x = error, unused;
    x[4] = 0.52;  // not where Huber's branches meet
    loss.virial(2.0, 5, x, derivative);
    expect_slopes({derivative.begin(), derivative.end()}, {x.begin(), x.end()},
                  [&](const std::vector<double> &v) {
                    std::array<double, 9> e;
                    std::copy(v.begin(), v.end(), e.begin());
                    return loss.virial(2.0, 5, e, unused);
                  });
  }
}

TEST(Loss, ForceTerm)
{
  // errors 0.5 0.1 -1 | 0.05 0.25 0.11; the mean is over all 12 components
  Forces t;
  std::vector<double> f = t.force;
  const double squares = 1.26 + 0.0771, absolutes = 1.6 + 0.41;
  EXPECT_NEAR(t.value(Loss(config(LossFunction::mse)), f, false), 10.0 * squares / 12.0, 1e-13);
  EXPECT_NEAR(t.deviation.squares, squares, 1e-14);
  EXPECT_NEAR(t.deviation.absolutes, absolutes, 1e-14);
  EXPECT_EQ(t.deviation.count, 6.0);
  EXPECT_NEAR(t.deviation.rmse(), std::sqrt(squares / 6), 1e-14);
  EXPECT_NEAR(t.deviation.mae(), absolutes / 6, 1e-14);
  EXPECT_TRUE(std::isnan(t.weighted.rmse()));
  f = t.force;
  EXPECT_NEAR(t.value(Loss(config(LossFunction::mae)), f, false), 10.0 * absolutes / 12.0, 1e-13);
  f = t.force;
  double sum = 0.0;
  for (double x : {0.5, 0.1, 1.0, 0.05, 0.25, 0.11}) sum += huber(x, DELTA);
  EXPECT_NEAR(t.value(Loss(config(LossFunction::huber)), f, false), 10.0 * sum / 12.0, 1e-13);
  for (const auto function : {LossFunction::mse, LossFunction::mae, LossFunction::huber})
    t.check_slopes(Loss(config(function)), false);
}

TEST(Loss, ForceTermOfLengths)
{
  Forces t;
  const double a = std::sqrt(1.26), b = std::sqrt(0.0771);
  LossConfig c = config(LossFunction::mae);
  c.f_use_norm = true;
  std::vector<double> f = t.force;
  EXPECT_NEAR(t.value(Loss(c), f, false), 10.0 * (a + b) / 4.0, 1e-13);
  EXPECT_NEAR(t.deviation.mae(), (a + b) / 2.0, 1e-14);  // as DeePMD-kit shows it
  t.check_slopes(Loss(c), false, LENGTH_TOLERANCE);
  t.check_slopes(Loss(c), true, LENGTH_TOLERANCE);
  c.function = LossFunction::huber;
  c.huber_delta[1] = 0.5;  // one atom below, one beyond
  f = t.force;
  EXPECT_NEAR(t.value(Loss(c), f, false), 10.0 * (huber(a, 0.5) + huber(b, 0.5)) / 4.0, 1e-13);
  t.check_slopes(Loss(c), false, LENGTH_TOLERANCE);
  f = t.label;  // no error, no direction
  EXPECT_EQ(t.value(Loss(c), f, false), 0.0);
  EXPECT_EQ(f, std::vector<double>(6, 0.0));
}

TEST(Loss, ForcesOfAtomsWithPrefactors)
{
  Forces t;
  std::vector<double> f = t.force;
  const double squares = 0.5 * 1.26 + 2.0 * 0.0771, absolutes = 0.5 * 1.6 + 2.0 * 0.41;
  t.weights.force = 0.0;
  EXPECT_NEAR(t.value(Loss(config(LossFunction::mse)), f, true), 3.0 * squares / 12.0, 1e-13);
  EXPECT_NEAR(t.weighted.rmse(), std::sqrt(squares / 6.0), 1e-14);
  EXPECT_NEAR(t.weighted.mae(), absolutes / 6.0, 1e-14);
  f = t.force;
  EXPECT_NEAR(t.value(Loss(config(LossFunction::mae)), f, true), 3.0 * absolutes / 12.0, 1e-13);
  for (const auto function : {LossFunction::mse, LossFunction::mae})
    t.check_slopes(Loss(config(function)), true);
}

TEST(Loss, RelativeForces)
{
  Forces t;
  LossConfig c = config(LossFunction::mse);
  c.relative_f = 0.5;
  std::vector<double> f = t.force;
  const double a = std::sqrt(14.0) + 0.5, b = std::sqrt(77.0) + 0.5;
  const double squares = 1.26 / (a * a) + 0.0771 / (b * b);
  EXPECT_NEAR(t.value(Loss(c), f, false), 10.0 * squares / 12.0, 1e-14);
  EXPECT_NEAR(t.deviation.squares, squares, 1e-15);
  t.check_slopes(Loss(c), true);
  c.function = LossFunction::mae;
  t.check_slopes(Loss(c), true);
  c.f_use_norm = true;
  t.check_slopes(Loss(c), true, LENGTH_TOLERANCE);
}

TEST(Loss, AtomicEnergies)
{
  const std::vector<double> label{1.0, 2.0, 3.0}, energy{1.03, 1.8, 7.0};
  const std::vector<char> has{1, 1, 0};
  const auto value = [&](LossFunction function, std::vector<double> &e, Deviation &deviation) {
    return Loss(config(function))
        .atom_energies(5.0, 8, 3, label.data(), has.data(), e.data(), deviation);
  };
  const double sums[] = {0.0009 + 0.04, 0.03 + 0.2, huber(0.03, 0.05) + huber(0.2, 0.05)};
  for (const auto function : {LossFunction::mse, LossFunction::mae, LossFunction::huber}) {
    std::vector<double> slope = energy;
    Deviation deviation;
    EXPECT_NEAR(value(function, slope, deviation), 5.0 * sums[static_cast<int>(function)] / 8.0,
                1e-14);
    EXPECT_NEAR(deviation.rmse(), std::sqrt(0.0409 / 2), 1e-14);
    expect_slopes(slope, energy, [&](std::vector<double> e) {
      Deviation unused;
      return value(function, e, unused);
    });
  }
}

TEST(Loss, GeneralizedForces)
{
  LossConfig c = config(LossFunction::mse);
  c.numb_generalized_coord = 2;
  const Loss loss(c);
  const std::vector<double> drdq{1, 0, 0.5, -1, 0, 2, 0.1, 0.2, 0.3, 0.4, -0.5, 0.6};
  const std::vector<double> label{1, 2, 3, 4, 5, 6}, force{1.5, 2.1, 2, 4.05, 5.25, 6.11};
  std::vector<double> error(2, 0.25);  // of other ranks
  loss.generalized_errors(2, drdq.data(), label.data(), force.data(), error.data());
  EXPECT_NEAR(error[0], 0.25 + 0.5 + 0.05 + 0.005 + 0.075 - 0.055, 1e-14);
  EXPECT_NEAR(error[1], 0.25 - 0.1 - 2.0 + 0.01 + 0.1 + 0.066, 1e-14);
  std::vector<double> residual(6, 0.0);
  EXPECT_NEAR(loss.generalized_forces(3.0, 2, drdq.data(), error.data(), residual.data()),
              3.0 * (error[0] * error[0] + error[1] * error[1]) / 2.0, 1e-13);
  expect_slopes(residual, force, [&](const std::vector<double> &f) {
    std::vector<double> e(2, 0.25);
    loss.generalized_errors(2, drdq.data(), label.data(), f.data(), e.data());
    return loss.generalized_forces(3.0, 0, nullptr, e.data(), nullptr);
  });
}

TEST(Loss, ContradictionsAreNamed)
{
  const auto message = [](const std::function<void(LossConfig &)> &change) {
    LossConfig c;
    change(c);
    return message_of([&] { Loss{c}; });
  };
  expect_in("f_use_norm", message([](LossConfig &c) { c.f_use_norm = true; }));
  expect_in("use_huber", message([](LossConfig &c) {
              c.function = LossFunction::huber;
              c.relative_f = 1.0;
            }));
  expect_in("use_huber", message([](LossConfig &c) {
              c.function = LossFunction::huber;
              c.start_pref_pf = c.limit_pref_pf = 1.0;
            }));
  expect_in("numb_generalized_coord",
            message([](LossConfig &c) { c.start_pref_gf = c.limit_pref_gf = 1.0; }));
  expect_in("relative_f", message([](LossConfig &c) { c.relative_f = -1.0; }));
  expect_in("huber_delta", message([](LossConfig &c) { c.huber_delta[1] = 0.0; }));
}

}  // namespace dptrain::test
