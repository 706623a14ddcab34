// Environment rows and their contraction with the table: against the definition, differences of it, and each other.
#include "kernels/contraction.h"
#include "support/edge_data.h"

namespace dptrain::test {
namespace {

using kernels::Contraction;
using kernels::Environment;

constexpr int width = 8, size = EdgePlan::centers * 4 * width;
constexpr double scale = 0.25;

template <class Real> Environment<Real> environment()
{
  return {test_rcut, test_smth, test_protection, test_avg, test_radial, test_angular};
}

TEST(Environment, ValueMatchesTheDefinitionAndDerivativesItsDifferences)
{
  for (double r : {0.3, 0.79, 0.81, 1.4, 2.2, 3.1, 3.49, 3.6, 5.0}) {
    const double x = 0.6 * r, y = -0.64 * r, z = 0.48 * r;
    const auto e = kernels::edge_value(environment<double>(), x, y, z);
    const auto expected = environment_by_definition(r);
    EXPECT_NEAR(e.arg, expected[0], 1e-13 * (1.0 + std::abs(expected[0]))) << r;
    EXPECT_NEAR(e.q, expected[1], 1e-13 * (1.0 + expected[1])) << r;
    EXPECT_NEAR(e.inv_r, 1.0 / r, 1e-15 / r);
    // h^2 = 1e-10 times third derivatives, which are 1e4 at 0.3 Angstrom, and rounding 1e-16 / h
    const double h = 1e-5;
    const auto plus = environment_by_definition(r + h), minus = environment_by_definition(r - h);
    EXPECT_NEAR(e.darg, (plus[0] - minus[0]) / (2 * h), 1e-7 * (1.0 + std::abs(e.darg))) << r;
    EXPECT_NEAR(e.dq, (plus[1] - minus[1]) / (2 * h), 1e-7 * (1.0 + std::abs(e.dq))) << r;

    // float32: the switch function is a sum of terms up to 15 that cancel near the cutoff
    const auto f = kernels::edge_value(environment<float>(), float(x), float(y), float(z));
    EXPECT_NEAR(f.arg, e.arg, 2e-5 * (1.0 + std::abs(e.arg))) << r;
    EXPECT_NEAR(f.q, e.q, 2e-5 * (1.0 + e.q)) << r;
    EXPECT_NEAR(f.darg, e.darg, 2e-5 * (1.0 + std::abs(e.darg))) << r;
    EXPECT_NEAR(f.dq, e.dq, 2e-5 * (1.0 + std::abs(e.dq))) << r;
  }
}

TEST(Environment, BeyondTheCutoffNothingIsLeft)
{
  const auto e = kernels::edge_value(environment<double>(), 0.0, test_rcut, 0.0);
  EXPECT_NEAR(e.q, 0.0, 1e-14);
  EXPECT_NEAR(e.arg, -test_avg / test_radial, 1e-14);
  const auto radial_switch = [](double r, double protection) {
    const kernels::Environment<double> plain(test_rcut, test_smth, protection, 0.0, 1.0, 1.0);
    return kernels::edge_value(plain, r * r).arg;
  };
  EXPECT_EQ(radial_switch(4.0, test_protection), 0.0);
  EXPECT_DOUBLE_EQ(radial_switch(0.5, 0.0), 2.0);
}

// A chunk, its table of polynomials, and the same in plain loops.
template <class Real> class ContractionTest : public testing::Test {
 protected:
  ContractionTest() : table_(table_numbers())
  {
    net_size_ = kernels::table_net_size<Real>(Polynomials::knots, 2, width);
    contraction_.edges = arrays_.view();
    contraction_.row = environment<Real>();
    contraction_.scale = scale;
    contraction_.padding_arg = static_cast<Real>(polynomials_.padding[1]);
    contraction_.padding_row = 1;
    auto &table = contraction_.table;
    table.origin = Polynomials::origin;
    table.inv_spacing = static_cast<Real>(1.0 / Polynomials::spacing);
    table.intervals = Polynomials::knots - 1;
    table.width = width;
    table.net_size = net_size_;
    table.padding_offset = net_size_ - 2 * width;
    table.rows = table_.data();
  }

  kernels::Array<Real> table_numbers()
  {
    const long one = kernels::table_net_size<Real>(Polynomials::knots, 2, width);
    auto rows = zeros<Real>(2 * one);
    for (int net = 0; net < 2; ++net)
      kernels::fill_table(in_kernels<double>(polynomials_.jets(net)).data(), Polynomials::knots, 2,
                          Polynomials::channels, width, rows.data() + net * one);
    return rows;
  }
  /// The table of a direct chunk: value and slope by slot at `interval` rows each, then padding.
  Vec direct_numbers() const
  {
    const int rows = kernels::rows_per_interval<Real>;
    Vec all((EdgePlan::slots + 1) * rows * width + 2 * 2 * width, 0.0);
    plan_.for_edges([&](int, int e) {
      const double arg = environment_by_definition(distance(plan_, e))[0];
      for (int order = 0; order < 2; ++order)
        for (int m = 0; m < Polynomials::channels; ++m)
          all[(e * rows + order) * width + m] = polynomials_.at(plan_.type[e], m, arg, order);
    });
    for (int net = 0; net < 2; ++net)
      for (int m = 0; m < Polynomials::channels; ++m)
        all[(EdgePlan::slots + 1) * rows * width + (2 * net + 1) * width + m] =
            polynomials_.at(net, m, polynomials_.padding[1]);
    return all;
  }
  void make_direct()
  {
    table_ = in_kernels<Real>(direct_numbers());
    auto &table = contraction_.table;
    table.direct = true;
    table.rows = table_.data();
    table.net_size = 2 * width;
    table.padding_offset = (EdgePlan::slots + 1) * kernels::rows_per_interval<Real> * width;
  }

  static double distance(const EdgePlan &plan, int e)
  {
    return std::hypot(plan.d[0][e], plan.d[1][e], plan.d[2][e]);
  }
  Vec by_definition(const EdgePlan &plan) const
  {
    Vec t(size, 0.0);
    plan.for_edges([&](int i, int e) {
      const auto [arg, q] = environment_by_definition(distance(plan, e));
      const double row[4] = {arg, q * plan.d[0][e], q * plan.d[1][e], q * plan.d[2][e]};
      for (int c = 0; c < 4; ++c)
        for (int m = 0; m < Polynomials::channels; ++m)
          t[(4 * i + c) * width + m] += scale * row[c] * polynomials_.at(plan.type[e], m, arg);
    });
    const double p = polynomials_.padding[1];
    for (int i = 0; i < EdgePlan::centers; ++i)
      for (int type = 0; type < 2; ++type)
        for (int m = 0; m < Polynomials::channels; ++m)
          t[4 * i * width + m] +=
              scale * plan.empty[2 * i + type] * p * polynomials_.at(type, m, p);
    return t;
  }
  Vec difference_along(const Vec &u) const
  {
    const double h = 1e-5;
    EdgePlan plus = plan_, minus = plan_;
    for (int e = 0; e < EdgePlan::slots; ++e)
      for (int a = 0; a < 3; ++a) {
        plus.d[a][e] += h * u[3 * e + a];
        minus.d[a][e] -= h * u[3 * e + a];
      }
    Vec difference = moved(by_definition(plus), -1.0, by_definition(minus));
    for (double &x : difference) x /= 2.0 * h;
    return difference;
  }

  Vec value()
  {
    auto t = in_kernels<Real>(Vec(size, 7.0));  // what was there must not matter
    kernels::contraction_value(contraction_, t.data());
    return to_host(t);
  }
  Vec tangent(const Vec *r, const Vec &strain)
  {
    auto t_dot = in_kernels<Real>(Vec(size, 7.0));
    const auto residuals = in_kernels<double>(r ? *r : Vec(1));
    const auto strains = in_kernels<double>(strain);
    kernels::contraction_jvp(contraction_, r ? residuals.data() : nullptr, strains.data(),
                             t_dot.data());
    return to_host(t_dot);
  }
  /// S = g . T - e . T_dot, which is linear in the numbers of the table.
  double scalar(const Vec &g, const Vec &e, const Vec *r, const Vec &strain)
  {
    return dot(g, value()) - dot(e, tangent(r, strain));
  }
  void check_gradient(const Vec *r)
  {
    const Vec g = random_vector(size, engine_), e = random_vector(size, engine_);
    auto gradient = in_kernels<Real>(Vec(table_.size(), 0.5));
    const auto residuals = in_kernels<double>(r ? *r : Vec(1));
    const auto strains = in_kernels<double>(strain_);
    kernels::contraction_gradient(contraction_, r ? residuals.data() : nullptr, strains.data(),
                                  in_kernels<Real>(g).data(), in_kernels<Real>(e).data(),
                                  gradient.data());
    Vec found = to_host(gradient), expected;
    for (double &x : found) x -= 0.5;  // it adds to what was there
    Vec unit(table_.size(), 0.0);
    for (std::size_t k = 0; k < unit.size(); ++k) {
      unit[k] = 1.0;
      table_ = in_kernels<Real>(unit);
      contraction_.table.rows = table_.data();
      expected.push_back(scalar(g, e, r, strain_));
      unit[k] = 0.0;
    }
    expect_close(found, expected, 2 * rounding<Real>, "table entry");
    const std::size_t padding = contraction_.table.padding_offset + width;
    for (int m = 0; m < width; ++m) EXPECT_NE(found[padding + m], 0.0);
  }

  RandomEngine engine_{11};
  Polynomials polynomials_{engine_};
  EdgePlan plan_{engine_};
  EdgeArrays<Real> arrays_{plan_};
  long net_size_ = 0;
  kernels::Array<Real> table_;
  Contraction<Real> contraction_;
  Vec r_ = random_vector(3 * EdgePlan::atoms, engine_);
  Vec strain_ = random_vector(9 * EdgePlan::frames, engine_);
};
TYPED_TEST_SUITE(ContractionTest, Precisions, PrecisionName);

TYPED_TEST(ContractionTest, ValueIsTheSumOfTheDefinition)
{
  const Vec expected = this->by_definition(this->plan_);
  ASSERT_GT(largest(expected), 1.0);
  expect_close(this->value(), expected, rounding<TypeParam>, "table");
  this->make_direct();
  expect_close(this->value(), expected, rounding<TypeParam>, "direct");
}

TYPED_TEST(ContractionTest, TangentIsTheDirectionalDerivative)
{
  // differences: h^2 = 1e-10 times third derivatives, rounding 1e-16 / h = 1e-11
  const double tolerance = sizeof(TypeParam) == 8 ? 1e-8 : 2e-5;
  const Vec zero(3 * EdgePlan::atoms, 0.0);
  const Vec with = this->difference_along(this->plan_.tangents(this->r_, this->strain_));
  const Vec without = this->difference_along(this->plan_.tangents(zero, this->strain_));
  for (bool direct : {false, true}) {
    if (direct) this->make_direct();
    expect_close(this->tangent(&this->r_, this->strain_), with, tolerance, "tangent");
    expect_close(this->tangent(nullptr, this->strain_), without, tolerance, "strain alone");
  }
}

// r . F + C : W = -E_dot for the energy g . T, whose tangent the JVP gives.
TYPED_TEST(ContractionTest, ReverseIsTheTransposeOfTheTangent)
{
  constexpr int atoms = EdgePlan::atoms, frames = EdgePlan::frames;
  const Vec g = random_vector(size, this->engine_);
  for (bool direct : {false, true}) {
    if (direct) this->make_direct();
    auto force = in_kernels<double>(Vec(3 * atoms, 1.0));
    auto virial = in_kernels<double>(Vec(9 * frames, 2.0)),
         atom_virial = in_kernels<double>(Vec(9 * atoms, 3.0));
    kernels::contraction_reverse(this->contraction_, in_kernels<TypeParam>(g).data(),
                                 {force.data(), virial.data(), atom_virial.data()});
    const Vec f = moved(to_host(force), -1.0, Vec(3 * atoms, 1.0));
    const Vec w = moved(to_host(virial), -2.0, Vec(9 * frames, 1.0));
    const Vec a = moved(to_host(atom_virial), -3.0, Vec(9 * atoms, 1.0));
    const double tolerance = rounding<TypeParam> * largest(f) * 10;

    for (int k = 0; k < 10; ++k) {
      const Vec r = random_vector(3 * atoms, this->engine_),
                strain = random_vector(9 * frames, this->engine_);
      EXPECT_NEAR(dot(r, f) + dot(strain, w), -dot(g, this->tangent(&r, strain)), tolerance);
    }
    for (int frame = 0; frame < frames; ++frame) {
      for (int c = 0; c < 9; ++c) {
        double sum = 0.0;
        for (int i = 0; i < atoms / 2; ++i) sum += a[9 * (atoms / 2 * frame + i) + c];
        EXPECT_NEAR(sum, w[9 * frame + c], tolerance);
      }
      for (int c = 0; c < 3; ++c) {
        double sum = 0.0;
        for (int i = 0; i < atoms / 2; ++i) sum += f[3 * (atoms / 2 * frame + i) + c];
        EXPECT_NEAR(sum, 0.0, tolerance);
      }
    }
    // without atom virials the rest is the same
    auto again = in_kernels<double>(Vec(3 * atoms, 1.0));
    kernels::contraction_reverse(this->contraction_, in_kernels<TypeParam>(g).data(),
                                 {again.data(), virial.data(), nullptr});
    expect_same_sums(to_host(again), to_host(force));
  }
}

TYPED_TEST(ContractionTest, GradientIsTheDerivativeByEachTableEntry)
{
  this->check_gradient(&this->r_);
  this->check_gradient(nullptr);
}

TYPED_TEST(ContractionTest, GradientOfADirectChunk)
{
  this->make_direct();
  this->check_gradient(&this->r_);
}

TYPED_TEST(ContractionTest, ArgumentsBySlot)
{
  auto found = in_kernels<TypeParam>(Vec(EdgePlan::slots, -9.0));
  kernels::edge_arguments(this->contraction_, found.data());
  Vec expected(EdgePlan::slots, -9.0);  // unused slots are left as they are
  this->plan_.for_edges([&](int, int e) {
    expected[e] = environment_by_definition(this->distance(this->plan_, e))[0];
  });
  expect_close(to_host(found), expected, rounding<TypeParam>);
}

}  // namespace
}  // namespace dptrain::test
