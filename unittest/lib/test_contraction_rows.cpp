// The kernels of the contraction with another number of rows than the library's, without limits of neighbors, against plain
// loops, and each other.
#include "kernels/contraction_kernels.h"
#include "support/edge_data.h"

namespace dptrain::test {
namespace {

// Nine polynomials of the distance vector, which span spherical harmonics up to l = 2; the argument is the distance.
template <class Number> std::array<Number, 9> polynomials(Number x, Number y, Number z)
{
  return {Number(1), x, y, z, x * y, y * z, z * x, x * x - y * y, 2 * z * z - x * x - y * y};
}

template <class Real> struct NineRows {
  static constexpr int rows = 9, kept = 1;
  static constexpr bool argument_is_first = false;
  struct Value {
    Real arg;
  };

  KOKKOS_FORCEINLINE_FUNCTION Value value(Real x, Real y, Real z) const
  {
    return {std::sqrt(x * x + y * y + z * z)};
  }
  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION void put_row(const Value &, Real scale, Real x, Real y, Real z,
                                           const Put &put) const
  {
    put(0, scale);
    put(1, scale * x);
    put(2, scale * y);
    put(3, scale * z);
    put(4, scale * x * y);
    put(5, scale * y * z);
    put(6, scale * z * x);
    put(7, scale * (x * x - y * y));
    put(8, scale * (2 * z * z - x * x - y * y));
  }
  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION Real put_tangent(const Value &v, Real scale, Real x, Real y, Real z,
                                               const Real (&u)[3], const Put &put) const
  {
    put(0, Real(0));
    put(1, scale * u[0]);
    put(2, scale * u[1]);
    put(3, scale * u[2]);
    put(4, scale * (u[0] * y + x * u[1]));
    put(5, scale * (u[1] * z + y * u[2]));
    put(6, scale * (u[2] * x + z * u[0]));
    put(7, scale * 2 * (x * u[0] - y * u[1]));
    put(8, scale * 2 * (2 * z * u[2] - x * u[0] - y * u[1]));
    return (x * u[0] + y * u[1] + z * u[2]) / v.arg;
  }
  template <class Put>
  KOKKOS_FORCEINLINE_FUNCTION void put_kept(const Value &v, const Put &put) const
  {
    put(0, v.arg);
  }
  template <class Kept, class Sum>
  KOKKOS_FORCEINLINE_FUNCTION void gradient(const Kept &kept, const Sum &s, Real scale, Real x,
                                            Real y, Real z, Real (&g)[3]) const
  {
    const Real along = s(9) / kept(0);
    g[0] = along * x + scale * (s(1) + s(4) * y + s(6) * z + 2 * x * (s(7) - s(8)));
    g[1] = along * y + scale * (s(2) + s(4) * x + s(5) * z - 2 * y * (s(7) + s(8)));
    g[2] = along * z + scale * (s(3) + s(5) * y + s(6) * x + 4 * z * s(8));
  }
};

// Several vectors of channels, the last one with zeros behind the channels.
template <class Real> class RowsTest : public testing::Test {
 protected:
  static constexpr int rows = 9, channels = Polynomials::channels, knots = Polynomials::knots;
  static constexpr int width = 3 * kernels::padded_width<Real>(1);
  static constexpr int size = EdgePlan::centers * rows * width;
  static constexpr double scale = 0.25;

  RowsTest()
  {
    net_size_ = kernels::table_net_size<Real>(knots, 0, width);
    table_ = zeros<Real>(2 * net_size_);
    for (int net = 0; net < 2; ++net)
      kernels::fill_table(in_kernels<double>(jets(net)).data(), knots, 0, channels, width,
                          table_.data() + net * net_size_);
    contraction_.edges = arrays_.view();
    contraction_.edges.empty = nullptr;
    contraction_.scale = scale;
    auto &table = contraction_.table;
    table.origin = Polynomials::origin;
    table.inv_spacing = static_cast<Real>(1.0 / Polynomials::spacing);
    table.intervals = knots - 1;
    table.width = width;
    table.net_size = net_size_;
    table.rows = table_.data();
  }
  /// [3][knots][channels], as there is no padding.
  Vec jets(int net) const
  {
    const Vec all = polynomials_.jets(net);
    Vec some;
    for (int order = 0; order < 3; ++order) {
      const auto begin = all.begin() + order * (knots + 2) * channels;
      some.insert(some.end(), begin, begin + knots * channels);
    }
    return some;
  }
  Vec by_definition(const EdgePlan &plan) const
  {
    Vec t(size, 0.0);
    plan.for_edges([&](int i, int e) {
      const double x = plan.d[0][e], y = plan.d[1][e], z = plan.d[2][e];
      const auto row = polynomials(x, y, z);
      for (int c = 0; c < rows; ++c)
        for (int m = 0; m < channels; ++m)
          t[(rows * i + c) * width + m] +=
              scale * row[c] * polynomials_.at(plan.type[e], m, std::hypot(x, y, z));
    });
    return t;
  }
  Vec value()
  {
    auto t = in_kernels<Real>(Vec(size, 7.0));
    kernels::contraction_value(contraction_, t.data());
    return to_host(t);
  }
  Vec tangent(const Vec &r, const Vec &strain)
  {
    auto t_dot = in_kernels<Real>(Vec(size, 7.0));
    kernels::contraction_jvp(contraction_, in_kernels<double>(r).data(),
                             in_kernels<double>(strain).data(), t_dot.data());
    return to_host(t_dot);
  }

  RandomEngine engine_{17};
  Polynomials polynomials_{engine_};
  EdgePlan plan_{engine_};
  EdgeArrays<Real> arrays_{plan_};
  long net_size_ = 0;
  kernels::Array<Real> table_;
  kernels::Contraction<Real, NineRows<Real>> contraction_;
  Vec r_ = random_vector(3 * EdgePlan::atoms, engine_);
  Vec strain_ = random_vector(9 * EdgePlan::frames, engine_);
};
TYPED_TEST_SUITE(RowsTest, Precisions, PrecisionName);

TYPED_TEST(RowsTest, ValueIsThePlainLoop)
{
  const Vec expected = this->by_definition(this->plan_);
  ASSERT_GT(largest(expected), 1.0);
  expect_close(this->value(), expected, rounding<TypeParam>);
}

TYPED_TEST(RowsTest, TangentIsTheDirectionalDerivative)
{
  // differences: h^2 = 1e-10 times third derivatives, rounding 1e-16 / h = 1e-11
  const double h = 1e-5, tolerance = sizeof(TypeParam) == 8 ? 1e-8 : 2e-5;
  const Vec u = this->plan_.tangents(this->r_, this->strain_);
  EdgePlan plus = this->plan_, minus = this->plan_;
  for (int e = 0; e < EdgePlan::slots; ++e)
    for (int a = 0; a < 3; ++a) {
      plus.d[a][e] += h * u[3 * e + a];
      minus.d[a][e] -= h * u[3 * e + a];
    }
  Vec difference = moved(this->by_definition(plus), -1.0, this->by_definition(minus));
  for (double &x : difference) x /= 2.0 * h;
  expect_close(this->tangent(this->r_, this->strain_), difference, tolerance);
}

// r . F + C : W = -E_dot for the energy g . T, whose tangent the JVP gives.
TYPED_TEST(RowsTest, ReverseIsTheTransposeOfTheTangent)
{
  constexpr int atoms = EdgePlan::atoms, frames = EdgePlan::frames;
  const Vec g = random_vector(this->size, this->engine_);
  auto force = zeros<double>(3 * atoms), virial = zeros<double>(9 * frames);
  kernels::ForceSums sums;
  sums.force = force.data();
  sums.virial = virial.data();
  kernels::contraction_reverse(this->contraction_, in_kernels<TypeParam>(g).data(), sums);
  const Vec f = to_host(force), w = to_host(virial);
  ASSERT_GT(largest(f), 0.1);
  for (int k = 0; k < 10; ++k) {
    const Vec r = random_vector(3 * atoms, this->engine_),
              strain = random_vector(9 * frames, this->engine_);
    EXPECT_NEAR(dot(r, f) + dot(strain, w), -dot(g, this->tangent(r, strain)),
                rounding<TypeParam> * largest(f) * 20);
  }
}

// S = g . T - e . T_dot is linear in the numbers of the table.
TYPED_TEST(RowsTest, GradientIsTheDerivativeByEachTableEntry)
{
  const Vec g = random_vector(this->size, this->engine_),
            e = random_vector(this->size, this->engine_);
  const auto residuals = in_kernels<double>(this->r_), strains = in_kernels<double>(this->strain_);
  const auto g_t = in_kernels<TypeParam>(g), e_t = in_kernels<TypeParam>(e);
  auto gradient = zeros<TypeParam>(this->table_.size());
  kernels::contraction_gradient(this->contraction_, residuals.data(), strains.data(), g_t.data(),
                                e_t.data(), gradient.data());
  // by bins: the same sums as products with g and e
  const long table_rows = this->net_size_ / this->width;
  const int per_center = this->rows * table_rows, per_type = EdgePlan::centers * per_center;
  auto q = zeros<TypeParam>(2 * per_type), p = zeros<TypeParam>(2 * per_type);
  kernels::contraction_bins(this->contraction_, 0, EdgePlan::centers, residuals.data(),
                            strains.data(), q.data(), p.data());
  const Vec bins_q = to_host(q), bins_p = to_host(p);
  Vec binned(this->table_.size(), 0.0);
  for (int type = 0; type < 2; ++type)
    for (int row = 0; row < EdgePlan::centers * this->rows; ++row)
      for (int k = 0; k < table_rows; ++k)
        for (int m = 0; m < this->width; ++m) {
          const long bin = type * per_type + row * table_rows + k;
          binned[type * this->net_size_ + k * this->width + m] +=
              bins_q[bin] * g[row * this->width + m] + bins_p[bin] * e[row * this->width + m];
        }

  Vec expected, unit(this->table_.size(), 0.0);
  for (std::size_t k = 0; k < unit.size(); ++k) {
    unit[k] = 1.0;
    this->table_ = in_kernels<TypeParam>(unit);
    this->contraction_.table.rows = this->table_.data();
    expected.push_back(dot(g, this->value()) - dot(e, this->tangent(this->r_, this->strain_)));
    unit[k] = 0.0;
  }
  expect_close(to_host(gradient), expected, 4 * rounding<TypeParam>, "gradient");
  expect_close(binned, expected, 4 * rounding<TypeParam>, "bins");
}

}  // namespace
}  // namespace dptrain::test
