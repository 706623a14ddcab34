// Value, reverse and JVP of each kernel against finite differences and against each other.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "kernels/contraction.h"
#include "kernels/descriptor.h"
#include "kernels/environment.h"
#include "kernels/pair_sum.h"
#include "kernels/runtime.h"

namespace dptrain::kernels {
namespace {

using Vec = std::vector<double>;

Vec random_vector(std::size_t n, RandomEngine &engine)
{
  Vec v(n);
  for (double &x : v) x = random_normal(engine);
  return v;
}

double dot(const Vec &a, const Vec &b)
{
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Two centres with three and four edges; one of them is padding.
struct EdgeData {
  std::vector<int> centers{0, 1}, first{0, 3, 7}, neighbor{1, 2, -1, 0, 2, 3, 4},
      net{0, 0, 1, 0, 1, 1, 1};
  Vec d[3], row[4], arg, inv_r, darg, q, dq;
  RandomEngine engine{11};

  EdgeData()
  {
    ensure_runtime();
    for (auto &c : d) c = random_vector(7, engine);
    for (auto &c : row) c.assign(7, 0.0);
    arg = inv_r = darg = q = dq = Vec(7, 0.0);
    for (auto &c : d) c[2] = 0.0;
    row[0][2] = -0.7;
    arg[2] = -0.35;
  }
  Edges view()
  {
    Edges e;
    e.num_centers = 2;
    e.num_edges = 7;
    e.centers = centers.data();
    e.first = first.data();
    e.neighbor = neighbor.data();
    e.net = net.data();
    for (int a = 0; a < 3; ++a) e.d[a] = d[a].data();
    for (int a = 0; a < 4; ++a) e.row[a] = row[a].data();
    e.arg = arg.data();
    e.inv_r = inv_r.data();
    e.darg = darg.data();
    e.q = q.data();
    e.dq = dq.data();
    return e;
  }
};

const EnvironmentParameters environment{3.5, 0.8, 0.01, 0.05, 0.14, 0.09};

TEST(Environment, MatchesTheDefinition)
{
  EdgeData data;
  environment_value(data.view(), environment);
  for (int k : {0, 1, 3, 4, 5, 6}) {
    const double r = std::hypot(data.d[0][k], data.d[1][k], data.d[2][k]);
    const double u = std::fmin(std::fmax((r - 0.8) / (3.5 - 0.8), 0.0), 1.0);
    const double w = u * u * u * (-6.0 * u * u + 15.0 * u - 10.0) + 1.0;
    EXPECT_NEAR(data.row[0][k], (w / (r + 0.01) - 0.05) / 0.14, 1e-13);
    EXPECT_NEAR(data.row[2][k], w / std::pow(r + 0.01, 2) * data.d[1][k] / 0.09, 1e-13);
  }
  EXPECT_EQ(data.row[0][2], -0.7);  // padding is left alone
  EXPECT_EQ(data.arg[2], -0.35);
}

TEST(Environment, JvpIsTheDirectionalDerivativeAndReverseItsTranspose)
{
  EdgeData data;
  Vec u[3], row_dot[4], g_row[4], g_d[3];
  for (auto &c : u) c = random_vector(7, data.engine);
  for (auto &c : g_row) c = random_vector(7, data.engine);
  const Vec g_arg = random_vector(7, data.engine);
  for (auto &c : row_dot) c.assign(7, 0.0);
  for (auto &c : g_d) c.assign(7, 0.0);
  Vec arg_dot(7);
  environment_value(data.view(), environment);
  double *const rd[4] = {row_dot[0].data(), row_dot[1].data(), row_dot[2].data(),
                         row_dot[3].data()};
  const double *const up[3] = {u[0].data(), u[1].data(), u[2].data()};
  environment_jvp(data.view(), up, rd, arg_dot.data());
  const double *const gr[4] = {g_row[0].data(), g_row[1].data(), g_row[2].data(), g_row[3].data()};
  double *const gd[3] = {g_d[0].data(), g_d[1].data(), g_d[2].data()};
  environment_reverse(data.view(), gr, g_arg.data(), gd);

  double forward = dot(g_arg, arg_dot), backward = 0.0;
  for (int a = 0; a < 4; ++a) forward += dot(g_row[a], row_dot[a]);
  for (int a = 0; a < 3; ++a) backward += dot(g_d[a], u[a]);
  EXPECT_NEAR(forward, backward, 1e-12 * std::abs(forward));  // rounding only

  const double h = 1e-6;
  EdgeData plus = data, minus = data;
  for (int a = 0; a < 3; ++a)
    for (int k = 0; k < 7; ++k) {
      plus.d[a][k] += h * u[a][k];
      minus.d[a][k] -= h * u[a][k];
    }
  environment_value(plus.view(), environment);
  environment_value(minus.view(), environment);
  // central differences: h^2 ~ 1e-12 times a third derivative of up to 1e3, rounding 1e-10
  for (int a = 0; a < 4; ++a)
    for (int k = 0; k < 7; ++k)
      if (data.neighbor[k] >= 0) {
        EXPECT_NEAR(row_dot[a][k], (plus.row[a][k] - minus.row[a][k]) / (2.0 * h),
                    2e-7 * (1.0 + std::abs(row_dot[a][k])));
      }
}

struct TableData {
  int knots = 9, width = 8;
  Vec rows;
  std::vector<int> knot;
  Vec weight[6], dweight[6];
  explicit TableData(RandomEngine &engine) : rows(random_vector(2 * 9 * 3 * 8, engine)), knot(7)
  {
    for (auto &c : weight) c.resize(7);
    for (auto &c : dweight) c.resize(7);
  }
  Table table() { return {-1.0, 2.0, knots, width, rows.data()}; }
  TableReads reads()
  {
    TableReads r;
    r.knot = knot.data();
    for (int k = 0; k < 6; ++k) {
      r.weight[k] = weight[k].data();
      r.dweight[k] = dweight[k].data();
    }
    return r;
  }
};

// A quintic polynomial and its two derivatives at the knots are reproduced exactly between them.
TEST(Table, QuinticPolynomialsAreExact)
{
  EdgeData data;
  TableData table(data.engine);
  const auto p = [](double x) {
    return ((((0.003 * x - 0.02) * x + 0.1) * x - 0.3) * x + 0.5) * x - 1.0;
  };
  const auto p1 = [](double x) { return (((0.015 * x - 0.08) * x + 0.3) * x - 0.6) * x + 0.5; };
  const auto p2 = [](double x) { return ((0.06 * x - 0.24) * x + 0.6) * x - 0.6; };
  for (int k = 0; k < 2 * table.knots; ++k) {
    const double x = -1.0 + 2.0 * (k % table.knots);
    table.rows[(3 * k) * 8] = p(x);
    table.rows[(3 * k + 1) * 8] = 2.0 * p1(x);
    table.rows[(3 * k + 2) * 8] = 4.0 * p2(x);
  }
  data.arg = {-1.0, -0.9, 0.0, 1.0, 3.3, 12.7, 15.0};
  for (auto &c : data.row) c.assign(7, 0.0);
  data.row[0].assign(7, 1.0);
  data.first = {0, 1, 2};
  auto edges = data.view();
  table_locate(edges, table.table(), table.reads());
  for (int k = 0; k < 7; ++k) {
    double g = 0.0, dg = 0.0;
    for (int l = 0; l < 6; ++l) {
      g += table.weight[l][k] * table.rows[(3 * table.knot[k] + l) * 8];
      dg += table.dweight[l][k] * table.rows[(3 * table.knot[k] + l) * 8];
    }
    EXPECT_NEAR(g, p(data.arg[k]),
                1e-12 * (1.0 + std::abs(g)));  // rounding of a degree-5 polynomial
    EXPECT_NEAR(dg, p1(data.arg[k]), 1e-12 * (1.0 + std::abs(dg)));
  }
}

TEST(Contraction, ReverseJvpAndGradientAgreeWithDifferences)
{
  EdgeData data;
  TableData table(data.engine);
  for (auto &c : data.row) c = random_vector(7, data.engine);
  data.arg = {-0.9, 0.2, 3.0, 5.5, 9.1, 11.7, 14.9};
  const double scale = 0.3;
  const int size = 2 * 4 * table.width;
  const auto value = [&](EdgeData &e, TableData &t) {
    Vec out(size);
    table_locate(e.view(), t.table(), t.reads());
    contraction_value(e.view(), t.table(), t.reads(), scale, out.data());
    return out;
  };
  Vec row_dot[4];
  for (auto &c : row_dot) c = random_vector(7, data.engine);
  const Vec arg_dot = random_vector(7, data.engine);
  const double *const rd[4] = {row_dot[0].data(), row_dot[1].data(), row_dot[2].data(),
                               row_dot[3].data()};
  const Vec base = value(data, table);
  Vec t(size), t_dot(size);
  contraction_jvp(data.view(), table.table(), table.reads(), scale, rd, arg_dot.data(), t.data(),
                  t_dot.data());
  for (int k = 0; k < size; ++k) EXPECT_NEAR(t[k], base[k], 1e-13);

  const double h = 1e-6;
  const auto moved = [&](double step) {
    EdgeData e = data;
    for (int k = 0; k < 7; ++k) {
      for (int a = 0; a < 4; ++a) e.row[a][k] += step * row_dot[a][k];
      e.arg[k] += step * arg_dot[k];
    }
    return value(e, table);
  };
  const Vec plus = moved(h), minus = moved(-h);
  // h^2 times third derivatives of a quintic with unit knots, and rounding 1e-16 / h
  for (int k = 0; k < size; ++k) EXPECT_NEAR(t_dot[k], (plus[k] - minus[k]) / (2.0 * h), 1e-8);

  // transpose of the JVP
  value(data, table);
  const Vec g_t = random_vector(size, data.engine), g_t_dot = random_vector(size, data.engine);
  Vec g_row[4], g_arg(7);
  for (auto &c : g_row) c.resize(7);
  double *const gr[4] = {g_row[0].data(), g_row[1].data(), g_row[2].data(), g_row[3].data()};
  contraction_reverse(data.view(), table.table(), table.reads(), scale, g_t.data(), gr,
                      g_arg.data());
  double backward = dot(g_arg, arg_dot);
  for (int a = 0; a < 4; ++a) backward += dot(g_row[a], row_dot[a]);
  EXPECT_NEAR(dot(g_t, t_dot), backward, 1e-12 * (1.0 + std::abs(backward)));

  // (T, T_dot) is linear in the rows of the table: the gradient is exact for any change of them
  Vec gradient(table.rows.size(), 0.0);
  contraction_gradient(data.view(), table.table(), table.reads(), scale, rd, arg_dot.data(),
                       g_t.data(), g_t_dot.data(), gradient.data());
  const double before = dot(g_t, t) + dot(g_t_dot, t_dot);
  const Vec change = random_vector(table.rows.size(), data.engine);
  for (std::size_t k = 0; k < change.size(); ++k) table.rows[k] += change[k];
  contraction_jvp(data.view(), table.table(), table.reads(), scale, rd, arg_dot.data(), t.data(),
                  t_dot.data());
  const double after = dot(g_t, t) + dot(g_t_dot, t_dot);
  EXPECT_NEAR(after - before, dot(gradient, change), 1e-11 * (1.0 + std::abs(after)));
}

TEST(Descriptor, ReverseJvpAndTheirReverseAgree)
{
  ensure_runtime();
  RandomEngine engine(5);
  const DescriptorShape shape{3, 8, 6, 2};
  const int nt = 3 * 4 * 8, nd = 3 * 6 * 2;
  Vec t = random_vector(nt, engine), t_dot = random_vector(nt, engine);
  for (int k = 0; k < nt; ++k)
    if (k % 8 >= 6) t[k] = t_dot[k] = 0.0;  // padded channels
  const auto value = [&](const Vec &x) {
    Vec d(nd);
    descriptor_value(shape, x.data(), d.data());
    return d;
  };
  const Vec d = value(t);
  double expected = 0.0;  // one entry by the definition: centre 1, m = 4, a = 1
  for (int c = 0; c < 4; ++c) expected += t[32 + c * 8 + 4] * t[32 + c * 8 + 1];
  EXPECT_NEAR(d[12 + 4 * 2 + 1], expected, 1e-14);

  Vec d_dot(nd);
  descriptor_jvp(shape, t.data(), t_dot.data(), d_dot.data());
  const auto moved = [&](double h) {
    Vec x = t;
    for (int k = 0; k < nt; ++k) x[k] += h * t_dot[k];
    return value(x);
  };
  const Vec plus = moved(0.5),
            minus = moved(-0.5);  // D is quadratic: central differences are exact
  for (int k = 0; k < nd; ++k) EXPECT_NEAR(d_dot[k], plus[k] - minus[k], 1e-13);

  const Vec g_d = random_vector(nd, engine), g_d_dot = random_vector(nd, engine);
  Vec g_t(nt);
  descriptor_reverse(shape, t.data(), g_d.data(), g_t.data());
  EXPECT_NEAR(dot(g_d, d_dot), dot(g_t, t_dot), 1e-12);

  Vec h_t(nt), h_t_dot(nt);
  descriptor_jvp_reverse(shape, t.data(), t_dot.data(), g_d.data(), g_d_dot.data(), h_t.data(),
                         h_t_dot.data());
  Vec v = random_vector(nt, engine), w = random_vector(nt, engine);
  for (int k = 0; k < nt; ++k)
    if (k % 8 >= 6) v[k] = w[k] = 0.0;
  const auto scalar = [&](double h) {
    Vec x = t, y = t_dot, dd(nd), dy(nd);
    for (int k = 0; k < nt; ++k) {
      x[k] += h * v[k];
      y[k] += h * w[k];
    }
    descriptor_value(shape, x.data(), dd.data());
    descriptor_jvp(shape, x.data(), y.data(), dy.data());
    return dot(g_d, dd) + dot(g_d_dot, dy);
  };
  EXPECT_NEAR(scalar(0.5) - scalar(-0.5), dot(h_t, v) + dot(h_t_dot, w), 1e-12);
}

TEST(PairSum, TangentsAreTheTransposeOfForces)
{
  EdgeData data;
  Vec g[3];
  for (auto &c : g) c = random_vector(7, data.engine);
  const Vec r = random_vector(15, data.engine), strain = random_vector(9, data.engine);
  const double *const gp[3] = {g[0].data(), g[1].data(), g[2].data()};
  Vec force(15, 0.0), virial(9, 0.0), atom_virial(45, 0.0);
  sum_forces(data.view(), gp, force.data(), virial.data(), atom_virial.data());
  Vec u[3] = {Vec(7), Vec(7), Vec(7)};
  double *const up[3] = {u[0].data(), u[1].data(), u[2].data()};
  edge_tangents(data.view(), r.data(), strain.data(), up);
  double sum = 0.0;
  for (int a = 0; a < 3; ++a) sum -= dot(g[a], u[a]);
  EXPECT_NEAR(dot(r, force) + dot(strain, virial), sum, 1e-12);
  for (int a = 0; a < 3; ++a) {
    double total = 0.0;
    for (int i = 0; i < 5; ++i) total += force[3 * i + a];
    EXPECT_NEAR(total, 0.0, 1e-13);
  }
  for (int c = 0; c < 9; ++c) {
    double total = 0.0;
    for (int i = 0; i < 5; ++i) total += atom_virial[9 * i + c];
    EXPECT_NEAR(total, virial[c], 1e-13);
  }
}

}  // namespace
}  // namespace dptrain::kernels
