// Terms of the loss against their definition, derivatives against finite differences.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "support/scratch.h"
#include "support/toy_model.h"
#include "training/loss/loss_term.h"

namespace dptrain::test {

namespace {

using Vec = std::vector<double>;

// Rounding of differences of numbers near 10; within one branch the penalties are polynomials of degree 2 at most, so that
// central differences have no other error. Lengths have one of STEP^2.
constexpr double STEP = 1e-4, TOLERANCE = 1e-9, LENGTH_TOLERANCE = 1e-6;
constexpr double DELTA = 0.15;
constexpr auto EVERY_FUNCTION = {LossFunction::mse, LossFunction::mae, LossFunction::huber};

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
void expect_slopes(const Vec &slope, const Vec &x, const std::function<double(const Vec &)> &value,
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

/// Two of the four atoms of a frame, and what pass A says of them; with sums that other ranks add.
struct Sample {
  ToyModel model;
  Frame frame;
  double network_energy = 0.0;
  std::array<double, 9> virial{};
  Vec force{1.5, 2.1, 2, 4.05, 5.25, 6.11}, atom_energy{0.0, 0.0};
  Vec others;  // sums of other ranks

  // of the latest evaluation
  Deviation errors;
  Residual residual;
  Vec force_residual, atom_residual;

  Sample()
  {
    frame.natoms = 4;
    frame.nlocal = 2;
    frame.type = {0, 1};
    frame.label.force = {1, 2, 3, 4, 5, 6};
  }
  /// The value of the term of this name. The derivatives are those of 3 times the value.
  double value(LossConfig settings, const std::string &name)
  {
    settings.prefactors[name] = {1.0, 1.0};
    const LossTerms terms = make_loss_terms(settings);
    for (const auto &term : terms)
      if (term->traits().name == name) return value(*term);
    ADD_FAILURE() << "no term " << name;
    return 0.0;
  }
  double value(const LossTerm &term)
  {
    const Prediction here{model, frame, network_energy, virial, force.data(), atom_energy.data()};
    EXPECT_TRUE(term.has_label(frame.label));
    Vec sums = others;
    sums.resize(term.num_sums(model), 0.0);
    term.add_sums(here, sums.data());
    errors = {};
    const double value = term.value(here, sums.data(), errors);
    force_residual.assign(force.size(), 0.0);
    atom_residual.assign(atom_energy.size(), 0.0);
    residual = {0.0, {}, force_residual.data(), atom_residual.data()};
    term.add_residual(here, sums.data(), 3.0, residual);
    return value;
  }
  void check_force_slopes(const LossConfig &settings, const std::string &name,
                          double tolerance = TOLERANCE)
  {
    value(settings, name);
    const Vec slope = force_residual, present = force;
    expect_slopes(
        slope, present,
        [&](const Vec &f) {
          force = f;
          return 3.0 * value(settings, name);
        },
        tolerance);
    force = present;
  }
};

}  // namespace

TEST(Loss, PrefactorsFollowTheLearningRate)
{
  const Prefactor energy{0.02, 1.0}, force{1000.0, 1.0};
  EXPECT_NEAR(energy.at(1.0), 0.02, 1e-15);  // limit + (start - limit) rounds
  EXPECT_DOUBLE_EQ(force.at(1.0), 1000.0);
  EXPECT_DOUBLE_EQ(energy.at(0.0), 1.0);
  EXPECT_DOUBLE_EQ(force.at(0.0), 1.0);
  EXPECT_DOUBLE_EQ(energy.at(0.5), 0.51);
  EXPECT_DOUBLE_EQ(force.at(0.5), 500.5);
  for (const Prefactor &off : {Prefactor{0.5, 0.0}, Prefactor{0.0, 0.5}, Prefactor{}})
    for (const double fraction : {0.0, 0.5, 1.0}) EXPECT_EQ(off.at(fraction), 0.0);
}

TEST(Loss, TermsAreThoseThatAreOn)
{
  const auto names = [](const LossConfig &settings) {
    std::string names;
    for (const auto &term : make_loss_terms(settings)) names += term->traits().name + " ";
    return names;
  };
  LossConfig c;
  c.prefactors["e"] = {};  // the errors of energies, forces and virials are always of interest
  EXPECT_EQ(names(c), "e f v ");
  c.prefactors["pf"] = {1.0, 1.0};
  c.prefactors["ae"] = {1.0, 0.0};
  EXPECT_EQ(names(c), "e f v pf ");
  c.prefactors["ae"] = {1.0, 2.0};
  EXPECT_EQ(names(c), "e f v ae pf ");
}

TEST(Loss, EnergyTerm)
{
  // network 0.7 elsewhere, energy bias 0.5 of the atom of type A here, another one elsewhere, and -2.5 of that of type B
  Sample s;
  s.model.set_energy_bias({0.5, -2.5});
  s.frame.natoms = 7;
  s.frame.label.energy = 1.0;
  s.others = {0.7, 1.0, 0.0};
  const auto value = [&](const LossConfig &settings, double error) {
    s.network_energy = 1.0 + error - (0.7 + 0.5 + 0.5 - 2.5);
    return s.value(settings, "e");
  };
  LossConfig c = config(LossFunction::mse);
  EXPECT_NEAR(value(c, 0.4), 0.16 / 7.0, 1e-15);
  EXPECT_NEAR(s.errors.rmse(), 0.4 / 7.0, 1e-15);
  c.intensive_ener_virial = true;
  EXPECT_NEAR(value(c, 0.4), 0.16 / 49.0, 1e-15);
  c.function = LossFunction::mae;  // the same for both settings
  EXPECT_NEAR(value(c, -0.4), 0.4 / 7.0, 1e-15);
  EXPECT_NEAR(s.errors.mae(), 0.4 / 7.0, 1e-15);
  c.function = LossFunction::huber;
  EXPECT_NEAR(value(c, -0.3), huber(0.3 / 7, 0.05), 1e-15);
  EXPECT_NEAR(value(c, 0.4), huber(0.4 / 7, 0.05), 1e-15);
  for (const auto function : EVERY_FUNCTION)
    for (const double error : {-0.3, 0.4}) {
      value(config(function), error);
      const double slope = s.residual.energy;
      expect_slopes({slope}, {error},
                    [&](const Vec &x) { return 3.0 * value(config(function), x[0]); });
    }
}

TEST(Loss, EnergyTermOfAtomsWithCoefficients)
{
  // network 2 (0.3 - 0.5) + 0 here and 0.1 elsewhere, energy bias 2 (0.5) + 0
  Sample s;
  s.model.set_energy_bias({0.5, -2.5});
  s.network_energy = NAN;  // not asked
  s.frame.label.energy = 0.4;
  s.frame.label.atom_ener_coeff = {2.0, 0.0};
  s.others = {0.1, 0.0, 0.0};
  LossConfig c = config(LossFunction::mse);
  c.enable_atom_ener_coeff = true;
  s.atom_energy = {0.3, 0.8};
  EXPECT_NEAR(s.value(c, "e"), std::pow(-0.4 + 0.1 + 1.0 - 0.4, 2) / 4.0, 1e-15);
  EXPECT_EQ(s.residual.energy, 0.0);
  const Vec slope = s.atom_residual;
  expect_slopes(slope, s.atom_energy, [&](const Vec &e) {
    s.atom_energy = e;
    return 3.0 * s.value(c, "e");
  });
}

TEST(Loss, VirialTerm)
{
  const std::array<double, 9> error{0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9};
  Sample s;
  s.frame.natoms = 5;
  s.frame.label.virial = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  s.others = Vec(9, 0.5);
  const auto value = [&](const LossConfig &settings, const auto &errors) {
    for (int k = 0; k < 9; ++k) s.virial[k] = (*s.frame.label.virial)[k] - 0.5 + errors[k];
    return s.value(settings, "v");
  };
  LossConfig c = config(LossFunction::mse);
  EXPECT_NEAR(value(c, error), 2.85 / 9.0 / 5.0, 1e-14);
  EXPECT_NEAR(s.errors.rmse(), std::sqrt(2.85 / 9.0) / 5.0, 1e-14);
  c.intensive_ener_virial = true;
  EXPECT_NEAR(value(c, error), 2.85 / 9.0 / 25.0, 1e-14);
  double sum = 0.0;
  for (double x : error) sum += huber(x / 5, 0.1);
  EXPECT_NEAR(value(config(LossFunction::mae), error), 4.5 / 9.0 / 5.0, 1e-14);
  EXPECT_NEAR(s.errors.mae(), 0.5 / 5.0, 1e-14);
  EXPECT_NEAR(value(config(LossFunction::huber), error), sum / 9.0, 1e-14);
  for (const auto function : EVERY_FUNCTION) {
    Vec x(error.begin(), error.end());
    x[4] = 0.52;  // not where Huber's branches meet
    value(config(function), x);
    const Vec slope(s.residual.virial.begin(), s.residual.virial.end());
    expect_slopes(slope, x, [&](const Vec &v) { return 3.0 * value(config(function), v); });
  }
}

TEST(Loss, ForceTerm)
{
  // errors 0.5 0.1 -1 | 0.05 0.25 0.11; the mean is over all 12 components
  Sample s;
  const double squares = 1.26 + 0.0771, absolutes = 1.6 + 0.41;
  EXPECT_NEAR(s.value(config(LossFunction::mse), "f"), squares / 12.0, 1e-14);
  EXPECT_NEAR(s.errors.squares, squares, 1e-14);
  EXPECT_NEAR(s.errors.absolutes, absolutes, 1e-14);
  EXPECT_EQ(s.errors.count, 6.0);
  EXPECT_NEAR(s.errors.rmse(), std::sqrt(squares / 6), 1e-14);
  EXPECT_NEAR(s.errors.mae(), absolutes / 6, 1e-14);
  EXPECT_NEAR(s.value(config(LossFunction::mae), "f"), absolutes / 12.0, 1e-14);
  double sum = 0.0;
  for (double x : {0.5, 0.1, 1.0, 0.05, 0.25, 0.11}) sum += huber(x, DELTA);
  EXPECT_NEAR(s.value(config(LossFunction::huber), "f"), sum / 12.0, 1e-14);
  for (const auto function : EVERY_FUNCTION) s.check_force_slopes(config(function), "f");
}

TEST(Loss, ForceTermAddsUpTheRanks)
{
  Sample s;
  s.others = {2.0, 3.0, 4.0, 6.0};
  EXPECT_NEAR(s.value(config(LossFunction::mse), "f"), (2.0 + 1.26 + 0.0771) / 12.0, 1e-14);
  EXPECT_NEAR(s.errors.squares, 3.0 + 1.26 + 0.0771, 1e-14);
  EXPECT_NEAR(s.errors.absolutes, 4.0 + 1.6 + 0.41, 1e-14);
  EXPECT_EQ(s.errors.count, 12.0);
}

TEST(Loss, ForceTermOfLengths)
{
  Sample s;
  const double a = std::sqrt(1.26), b = std::sqrt(0.0771);
  LossConfig c = config(LossFunction::mae);
  c.f_use_norm = true;
  EXPECT_NEAR(s.value(c, "f"), (a + b) / 4.0, 1e-14);
  EXPECT_NEAR(s.errors.mae(), (a + b) / 2.0, 1e-14);  // as DeePMD-kit shows it
  s.check_force_slopes(c, "f", LENGTH_TOLERANCE);
  c.function = LossFunction::huber;
  c.huber_delta[1] = 0.5;  // one atom below, one beyond
  EXPECT_NEAR(s.value(c, "f"), (huber(a, 0.5) + huber(b, 0.5)) / 4.0, 1e-14);
  s.check_force_slopes(c, "f", LENGTH_TOLERANCE);
  s.force = s.frame.label.force;  // no error, no direction
  EXPECT_EQ(s.value(c, "f"), 0.0);
  EXPECT_EQ(s.force_residual, Vec(6, 0.0));
}

TEST(Loss, ForcesOfAtomsWithPrefactors)
{
  Sample s;
  s.frame.label.atom_pref = {0.5, 2.0};
  const double squares = 0.5 * 1.26 + 2.0 * 0.0771, absolutes = 0.5 * 1.6 + 2.0 * 0.41;
  EXPECT_NEAR(s.value(config(LossFunction::mse), "pf"), squares / 12.0, 1e-14);
  EXPECT_NEAR(s.errors.rmse(), std::sqrt(squares / 6.0), 1e-14);
  EXPECT_NEAR(s.errors.mae(), absolutes / 6.0, 1e-14);
  EXPECT_NEAR(s.value(config(LossFunction::mae), "pf"), absolutes / 12.0, 1e-14);
  for (const auto function : {LossFunction::mse, LossFunction::mae})
    s.check_force_slopes(config(function), "pf");
  LossConfig c = config(LossFunction::mae);
  c.f_use_norm = true;  // concerns the term f alone
  EXPECT_NEAR(s.value(c, "pf"), absolutes / 12.0, 1e-14);
  s.check_force_slopes(c, "pf");
}

TEST(Loss, AtomPrefactorsMayBeMissing)
{
  LossConfig c = config(LossFunction::mse);
  c.prefactors["pf"] = {1.0, 1.0};
  Label label;
  label.force = {1.0, 2.0, 3.0};
  EXPECT_FALSE(make_loss_terms(c).back()->has_label(label));
  c.use_default_pf = true;
  EXPECT_TRUE(make_loss_terms(c).back()->has_label(label));
  Sample s;
  EXPECT_NEAR(s.value(c, "pf"), (1.26 + 0.0771) / 12.0, 1e-14);
}

// Two more atoms are on other ranks, with a weight of 0.5 in all: the means are over weights, not over atoms.
TEST(Loss, ForcesThatDoNotAllCount)
{
  Sample s;
  s.frame.label.force_weight = {0.0, 2.0};
  s.frame.label.atom_pref = {3.0, 0.5};
  s.others = {0.7, 0.7, 0.4, 1.5, 2.0};
  const double squares = 2.0 * 0.0771 + 0.7, absolutes = 2.0 * 0.41 + 0.7;
  EXPECT_NEAR(s.value(config(LossFunction::mse), "f"), squares / 7.5, 1e-14);
  EXPECT_NEAR(s.errors.rmse(), std::sqrt(squares / 7.5), 1e-14);
  EXPECT_EQ(s.force_residual[0], 0.0);
  EXPECT_NEAR(s.value(config(LossFunction::mae), "f"), absolutes / 7.5, 1e-14);
  EXPECT_NEAR(s.value(config(LossFunction::mse), "pf"), (2.0 * 0.5 * 0.0771 + 0.7) / 7.5, 1e-14);
  for (const auto function : EVERY_FUNCTION) s.check_force_slopes(config(function), "f");
  for (const auto function : {LossFunction::mse, LossFunction::mae})
    s.check_force_slopes(config(function), "pf");
  LossConfig c = config(LossFunction::mae);
  c.f_use_norm = true;
  EXPECT_NEAR(s.value(c, "f"), (2.0 * std::sqrt(0.0771) + 0.7) / 2.5, 1e-14);
  s.check_force_slopes(c, "f", LENGTH_TOLERANCE);
  // a rank without atoms of the frame finds the same value
  const double value = s.value(config(LossFunction::mse), "f");
  Sample none;
  none.frame.nlocal = 0;
  none.frame.label.force_weight.clear();
  none.others = {squares, squares, absolutes, 7.5, 4.0};
  EXPECT_NEAR(none.value(config(LossFunction::mse), "f"), value, 1e-14);
}

TEST(Loss, RelativeForces)
{
  Sample s;
  s.frame.label.atom_pref = {0.5, 2.0};
  LossConfig c = config(LossFunction::mse);
  c.relative_f = 0.5;
  const double a = std::sqrt(14.0) + 0.5, b = std::sqrt(77.0) + 0.5;
  const double squares = 1.26 / (a * a) + 0.0771 / (b * b);
  EXPECT_NEAR(s.value(c, "f"), squares / 12.0, 1e-15);
  EXPECT_NEAR(s.errors.squares, squares, 1e-15);
  for (const char *term : {"f", "pf"}) s.check_force_slopes(c, term);
  c.function = LossFunction::mae;
  for (const char *term : {"f", "pf"}) s.check_force_slopes(c, term);
  c.f_use_norm = true;
  s.check_force_slopes(c, "f", LENGTH_TOLERANCE);
}

TEST(Loss, AtomicEnergies)
{
  Sample s;
  s.frame.natoms = 8;
  s.frame.nlocal = 3;
  s.frame.type = {0, 0, 1};
  s.model.exclude(1);
  s.frame.label.atom_energy = {1.0, 2.0, 3.0};
  const Vec energy{1.03, 1.8, 7.0};
  const double sums[] = {0.0009 + 0.04, 0.03 + 0.2, huber(0.03, 0.05) + huber(0.2, 0.05)};
  for (const auto function : EVERY_FUNCTION) {
    s.atom_energy = energy;
    EXPECT_NEAR(s.value(config(function), "ae"), sums[static_cast<int>(function)] / 8.0, 1e-14);
    EXPECT_NEAR(s.errors.rmse(), std::sqrt(0.0409 / 2), 1e-14);
    const Vec slope = s.atom_residual;
    EXPECT_EQ(slope[2], 0.0);
    expect_slopes(slope, energy, [&](const Vec &e) {
      s.atom_energy = e;
      return 3.0 * s.value(config(function), "ae");
    });
  }
}

TEST(Loss, GeneralizedForces)
{
  LossConfig c = config(LossFunction::mse);
  c.numb_generalized_coord = 2;
  Sample s;
  s.frame.label.drdq = {1, 0, 0.5, -1, 0, 2, 0.1, 0.2, 0.3, 0.4, -0.5, 0.6};
  s.others = {0.25, 0.25};
  const double g = 0.25 + 0.5 + 0.05 + 0.005 + 0.075 - 0.055,
               h = 0.25 - 0.1 - 2.0 + 0.01 + 0.1 + 0.066;
  EXPECT_NEAR(s.value(c, "gf"), (g * g + h * h) / 2.0, 1e-13);
  EXPECT_NEAR(s.errors.rmse(), std::sqrt((g * g + h * h) / 2.0), 1e-13);
  s.check_force_slopes(c, "gf");
  c.prefactors["gf"] = {1.0, 1.0};
  s.frame.label.drdq.pop_back();
  expect_in("11 numbers of drdq for 2 atoms",
            message_of([&] { make_loss_terms(c).back()->check(s.frame); }));
}

TEST(Loss, ContradictionsAreNamed)
{
  const auto message = [](const std::function<void(LossConfig &)> &change) {
    LossConfig c;
    change(c);
    return message_of([&] { make_loss_terms(c); });
  };
  expect_in("f_use_norm", message([](LossConfig &c) { c.f_use_norm = true; }));
  expect_in("use_huber", message([](LossConfig &c) {
              c.function = LossFunction::huber;
              c.relative_f = 1.0;
            }));
  expect_in("use_huber", message([](LossConfig &c) {
              c.function = LossFunction::huber;
              c.prefactors["pf"] = {1.0, 1.0};
            }));
  expect_in("numb_generalized_coord", message([](LossConfig &c) {
              c.prefactors["gf"] = {1.0, 1.0};
            }));
  expect_in("relative_f", message([](LossConfig &c) { c.relative_f = -1.0; }));
  expect_in("huber_delta", message([](LossConfig &c) { c.huber_delta[1] = 0.0; }));
  expect_in("no term 'x'", message([](LossConfig &c) { c.prefactors["x"] = {1.0, 1.0}; }));
}

}  // namespace dptrain::test
