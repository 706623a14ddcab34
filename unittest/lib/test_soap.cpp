// SOAP against a version written out with loops, its symmetry, and what it is for.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "dptrain/parallel/communicator.h"
#include "optimizer/optimizer.h"
#include "optimizer/orthonormal.h"
#include "optimizer/soap_matrices.h"
#include "support/scratch.h"
#include "support/soap_reference.h"
#include "support/steps_on_host.h"

namespace dptrain::test {

namespace {

using Matrix = SoapReference::Matrix;

OptimizerConfig soap(int frequency = 10)
{
  OptimizerConfig config;
  config.type = OptimizerType::soap;
  config.precondition_frequency = frequency;
  return config;
}

std::unique_ptr<Optimizer> make(const OptimizerConfig &config,
                                const std::vector<ParameterBlock> &index)
{
  return make_optimizer(config, index, make_mpi_communicator());
}

std::unique_ptr<Optimizer> for_matrix(const OptimizerConfig &config, std::int64_t rows,
                                      std::int64_t cols)
{
  return make(config, {{"w", {rows, cols}, 0, std::size_t(rows * cols), true}});
}

std::vector<double> random_vector(RandomEngine &engine, std::size_t n)
{
  std::vector<double> values(n);
  for (double &value : values) value = random_normal(engine);
  return values;
}

Matrix as_matrix(const std::vector<double> &values, int rows, int cols)
{
  Matrix matrix = SoapReference::zeros(rows, cols);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) matrix[i][j] = values[i * cols + j];
  return matrix;
}

std::vector<double> flat(const Matrix &matrix)
{
  std::vector<double> values;
  for (const auto &row : matrix) values.insert(values.end(), row.begin(), row.end());
  return values;
}

double difference(const std::vector<double> &a, const std::vector<double> &b)
{
  double most = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}

/// Largest difference to the loops after ten steps with refreshes at 3, 6 and 9; changes are of size lr = 1.
double error_after_ten_steps(OptimizerConfig config, const std::vector<int> &left,
                             const std::vector<int> &right)
{
  const int rows = std::accumulate(left.begin(), left.end(), 0),
            cols = std::accumulate(right.begin(), right.end(), 0);
  config.precondition_frequency = 3;
  const auto optimizer = for_matrix(config, rows, cols);
  SoapReference reference(left, right, 3, 0.95);
  RandomEngine engine(11);
  std::vector<double> x = random_vector(engine, rows * cols), expected = x;
  for (int step = 0; step < 10; ++step) {
    const std::vector<double> gradient = random_vector(engine, rows * cols);
    take_step(*optimizer, x, gradient, 1.0);
    const std::vector<double> change = flat(reference.step(as_matrix(gradient, rows, cols), 1.0));
    for (std::size_t k = 0; k < x.size(); ++k) expected[k] -= change[k];
  }
  return difference(x, expected);
}

std::vector<ParameterBlock> blocks()
{
  return {{"in", {1, 4}, 0, 4, true}, {"w", {4, 3}, 4, 12, true}, {"frozen", {3, 3}, 16, 9, false},
          {"b", {3}, 25, 3, true},    {"v", {3, 3}, 28, 9, true}, {"out", {3, 1}, 37, 3, true}};
}

}  // namespace

// Rounding of about 1e-16 grows by the condition of the means of random gradients, at most a few thousand.
TEST(Soap, StepsAreThoseOfTheFormulas)
{
  EXPECT_LT(error_after_ten_steps(soap(), {3}, {2}), 1e-11);
  EXPECT_LT(error_after_ten_steps(soap(), {2}, {3}), 1e-11);
  EXPECT_LT(error_after_ten_steps(soap(), {4}, {4}), 1e-11);
}

// The shift of the reference is that of the whole trace: it turns the bases by 1e-11 of their change, some steps long.
TEST(Soap, LongSidesArePreconditionedInEqualBlocks)
{
  OptimizerConfig config = soap();
  config.max_precondition_dim = 3;
  EXPECT_LT(error_after_ten_steps(config, {3, 3}, {3}), 1e-8);
  EXPECT_LT(error_after_ten_steps(config, {2}, {2, 3}), 1e-8);
  EXPECT_LT(error_after_ten_steps(config, {2, 2}, {2, 3}), 1e-8);
  EXPECT_LT(error_after_ten_steps(config, {2, 2, 3}, {3}), 1e-8);
}

TEST(Soap, LongSidesAreNamed)
{
  const std::vector<ParameterBlock> index{{"a", {512, 3}, 0, 1536, true},
                                          {"b", {513, 240}, 1536, 123120, true},
                                          {"c", {1, 900}, 124656, 900, true},
                                          {"d", {900, 900}, 125556, 810000, false}};
  EXPECT_EQ(long_sides(soap(), index),
            "SOAP preconditions sides of weight matrices that are longer than max_precondition_dim "
            "(512) in blocks: b [513 x 240] in 2 x 1 blocks");
  OptimizerConfig config = soap();
  config.max_precondition_dim = 513;
  EXPECT_EQ(long_sides(config, index), "");
  config.type = OptimizerType::adam;
  config.max_precondition_dim = 2;
  EXPECT_EQ(long_sides(config, index), "");
}

TEST(Soap, SinglePrecisionIsCloseToDouble)
{
  OptimizerConfig config = soap();
  config.precision = "float32";
  const double error = error_after_ten_steps(config, {4}, {4});
  EXPECT_LT(error, 1e-3);  // 6e-8 times the condition of the means
  EXPECT_GT(error, 1e-9);  // it is single precision
}

TEST(Soap, VectorsAndMatricesInBlocksOfOneTakeStepsOfAdamWithEqualBetas)
{
  OptimizerConfig config = soap();
  config.max_precondition_dim = 1;
  OptimizerConfig adam;
  adam.beta1 = adam.beta2 = 0.95;
  const std::vector<ParameterBlock> index{
      {"b", {3}, 0, 3, true}, {"in", {1, 2}, 3, 2, true}, {"w", {3, 4}, 5, 12, true}};
  const auto one = make(config, index), two = make(adam, index);
  RandomEngine engine(3);
  std::vector<double> x = random_vector(engine, 17), y = x;
  for (int step = 0; step < 12; ++step) {
    const std::vector<double> gradient = random_vector(engine, 17);
    take_step(*one, x, gradient, 0.1);
    take_step(*two, y, gradient, 0.1);
  }
  EXPECT_EQ(x, y);
}

TEST(Soap, WeightDecayIsDecoupled)
{
  OptimizerConfig config = soap();
  config.weight_decay = 0.5;
  const auto decayed = for_matrix(config, 2, 2), plain = for_matrix(soap(), 2, 2);
  std::vector<double> x{1, 2, 3, 4}, y = x;
  for (double g : {1.0, 3.0}) {
    take_step(*decayed, x, {g, -1, 2, 1}, 0.1);
    take_step(*plain, y, {g, -1, 2, 1}, 0.1);
  }
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(x[k], y[k] - 0.05 * (k + 1), 1e-15);
}

TEST(Soap, ARotatedGradientGivesARotatedStep)
{
  // G -> U G V^T with orthogonal U and V: Adam would give another step, SOAP the rotated one
  constexpr int rows = 4, cols = 3;
  RandomEngine engine(5);
  const Matrix u = SoapReference::orthonormal(as_matrix(random_vector(engine, 16), rows, rows));
  const Matrix v = SoapReference::orthonormal(as_matrix(random_vector(engine, 9), cols, cols));
  const auto rotated = [&](const std::vector<double> &g) {
    return flat(SoapReference::product(SoapReference::product(u, as_matrix(g, rows, cols)), v));
  };
  const auto deviation = [&](const OptimizerConfig &config) {
    const auto one = for_matrix(config, rows, cols), two = for_matrix(config, rows, cols);
    std::vector<double> x(rows * cols, 0.0), y = x;
    for (int step = 0; step < 12; ++step) {
      const std::vector<double> gradient = random_vector(engine, rows * cols);
      take_step(*one, x, gradient, 1.0);
      take_step(*two, y, rotated(gradient), 1.0);
    }
    return difference(rotated(x), y);
  };
  EXPECT_LT(deviation(soap(4)), 1e-11);  // rounding, as above
  EXPECT_GT(deviation({}), 0.1);
}

TEST(Soap, IsFasterThanAdamOnAnIllConditionedQuadratic)
{
  // f = 1/2 |A (W - W0) B|^2 with singular values of A and B from 1 to 1/100 along directions that are not the axes:
  // what is left of f after 200 steps with the learning rate going to zero, at the best of several rates
  constexpr int n = 8;
  RandomEngine engine(7);
  const auto ill_conditioned = [&] {
    Matrix q = SoapReference::orthonormal(as_matrix(random_vector(engine, n * n), n, n));
    for (auto &row : q)
      for (int j = 0; j < n; ++j) row[j] *= std::pow(10.0, -2.0 * j / (n - 1));
    return SoapReference::transposed(q);
  };
  const Matrix a = ill_conditioned(), b = SoapReference::transposed(ill_conditioned());
  const std::vector<double> target = random_vector(engine, n * n);
  const auto loss_of = [&](OptimizerConfig config, double lr, int steps) {
    const auto optimizer = for_matrix(config, n, n);
    std::vector<double> x(n * n, 0.0);
    double loss = 0.0;
    for (int step = 0; step <= steps; ++step) {
      std::vector<double> d = x;
      for (int k = 0; k < n * n; ++k) d[k] -= target[k];
      const Matrix error = SoapReference::product(SoapReference::product(a, as_matrix(d, n, n)), b);
      loss = 0.0;
      for (double e : flat(error)) loss += 0.5 * e * e;
      const Matrix g =
          SoapReference::product(SoapReference::product(SoapReference::transposed(a), error),
                                 SoapReference::transposed(b));
      if (step < steps)
        take_step(*optimizer, x, flat(g), lr * 0.5 * (1.0 + std::cos(M_PI * step / steps)));
    }
    return loss;
  };
  const auto best = [&](const OptimizerConfig &config) {
    double least = HUGE_VAL;
    for (double lr : {0.01, 0.03, 0.1, 0.3}) least = std::min(least, loss_of(config, lr, 200));
    return least;
  };
  const double of_soap = best(soap()), of_adam = best({});
  RecordProperty("soap", std::to_string(of_soap));
  RecordProperty("adam", std::to_string(of_adam));
  EXPECT_LT(of_soap, 0.1 * of_adam) << "SOAP " << of_soap << ", Adam " << of_adam;
}

TEST(Soap, FrozenBlocksStayAndSilentOnesWait)
{
  const auto optimizer = make(soap(2), blocks());
  RandomEngine engine(9);
  std::vector<double> x = random_vector(engine, 40), start = x;
  for (int step = 0; step < 6; ++step) {
    std::vector<double> gradient = random_vector(engine, 40);
    // no atom of a type: its net has no gradient
    if (step < 3) std::fill(gradient.begin() + 4, gradient.begin() + 16, 0.0);
    take_step(*optimizer, x, gradient, 0.1);
    for (std::size_t k = 0; k < 40; ++k) {
      const bool frozen = k >= 16 && k < 25;
      // the first gradient of a matrix makes its bases
      const bool waits = (k >= 4 && k < 16 && step <= 3) || (k >= 28 && k < 37 && step == 0);
      EXPECT_EQ(x[k] == start[k], frozen || waits) << "parameter " << k << ", step " << step;
      EXPECT_TRUE(std::isfinite(x[k]));
    }
  }
}

TEST(Soap, ARestoredStateContinuesBitByBit)
{
  for (const char *precision : {"float64", "float32"}) {
    OptimizerConfig config = soap(4);
    config.precision = precision;
    const auto one = make(config, blocks());
    RandomEngine engine(13);
    std::vector<double> x = random_vector(engine, 40);
    for (int step = 0; step < 5; ++step) take_step(*one, x, random_vector(engine, 40), 0.01);
    const auto two = make(config, blocks());
    two->set_state(one->state());
    EXPECT_EQ(two->state(), one->state());
    std::vector<double> y = x;
    for (int step = 5; step < 14; ++step) {
      const std::vector<double> gradient = random_vector(engine, 40);
      take_step(*one, x, gradient, 0.01);
      take_step(*two, y, gradient, 0.01);
    }
    EXPECT_EQ(x, y);
  }
}

TEST(Soap, ForeignStateAndSettingsAreRefused)
{
  const auto optimizer = make(soap(), blocks());
  const auto adam = make({}, blocks());
  expect_in("SOAP for 40 parameters", message_of([&] { optimizer->set_state(adam->state()); }));
  expect_in("Adam for 40 parameters", message_of([&] { adam->set_state(optimizer->state()); }));
  const auto refused = [](auto change) {
    OptimizerConfig config = soap();
    change(config);
    return message_of([&] { make(config, blocks()); });
  };
  expect_in("precondition_frequency",
            refused([](OptimizerConfig &c) { c.precondition_frequency = 0; }));
  expect_in("float64 or float32", refused([](OptimizerConfig &c) { c.precision = "half"; }));
}

// What a device does in place of reflections. In the columns of one step of orthogonal iteration the lengths have the spread of the
// eigenvalues; those of columns 1e-8 as long as the longest are known to about 1e-8 of themselves.
TEST(Soap, BasesByCholeskyAreThoseByReflections)
{
  for (const std::int64_t n : {2, 16, 48, 130}) {
    at::manual_seed(n);
    const auto random = [&] { return at::randn({n, n}, at::kDouble); };
    const at::Tensor basis = orthonormal_by_reflections(random());
    const at::Tensor turn = orthonormal_by_reflections(at::eye(n, at::kDouble) + 0.05 * random());
    const at::Tensor lengths = at::logspace(0.0, -8.0, n, 10.0, at::kDouble);
    const at::Tensor a = at::mm(basis * lengths, turn);  // eigenvectors are near, not there
    const at::Tensor expected = orthonormal_by_reflections(a), found = orthonormal_by_cholesky(a);
    const at::Tensor signs = (expected * found).sum(0).sign();
    EXPECT_LT((at::mm(found.t(), found) - at::eye(n, at::kDouble)).abs().max().item<double>(),
              1e-13);
    EXPECT_LT((expected * signs - found).abs().max().item<double>(), 1e-6) << n;
    // of nothing comes nothing that could be a basis, which shows
    EXPECT_FALSE(
        orthonormal_by_cholesky(at::zeros({n, n}, at::kDouble)).isfinite().all().item<bool>());
    // float32 numbers are taken to float64 first
    const at::Tensor single = orthonormal_by_cholesky(a.to(at::kFloat));
    EXPECT_LT((at::mm(single.t(), single) - at::eye(n, at::kDouble)).abs().max().item<double>(),
              1e-13);
  }
}

// The basis of a matrix that has had no gradient for long stays, and those beside it do not suffer.
TEST(Soap, BasesOfSeveralMatricesAreFoundEachAlone)
{
  constexpr std::int64_t n = 12;
  at::manual_seed(3);
  for (const auto type : {at::kDouble, at::kFloat}) {
    const at::Tensor all = at::randn({3, n, n}, type);
    all.select(0, 1).zero_();
    const at::Tensor before = at::eye(n, type).expand({3, n, n}).contiguous();
    const at::Tensor found = where_finite(orthonormal_by_cholesky(all), before);
    for (const int k : {0, 2}) {
      const at::Tensor alone = orthonormal_by_cholesky(all.select(0, k));
      EXPECT_LT((found.select(0, k) - alone).abs().max().item<double>(), 1e-12);
      EXPECT_TRUE(where_finite(alone, before.select(0, k)).equal(alone));
    }
    EXPECT_TRUE(found.select(0, 1).equal(at::eye(n, found.scalar_type())));
  }
}

// A device works on those of one size as one. The second one begins later, and so has stages of its own; the longer side has two blocks.
TEST(Soap, MatricesOfOneSizeAreWorkedOnAsEachAlone)
{
  constexpr int rows = 5, cols = 3, total = 4 * rows * cols + 7;
  const std::vector<long> offsets{2, 20, 35, 52};
  OptimizerConfig config = complete(soap(3));
  config.max_precondition_dim = 4;
  Moments<double> moments(config, total), alone(config, total);
  SoapMatrices<double> all(config, offsets, rows, cols);
  std::vector<SoapMatrices<double>> each;
  for (const long offset : offsets)
    each.emplace_back(config, std::vector<long>{offset}, rows, cols);
  RandomEngine engine(21);
  const std::vector<double> start = random_vector(engine, total);
  kernels::Array<double> x, y, g;
  x.copy_from(start);
  y.copy_from(start);
  for (int step = 0; step < 11; ++step) {
    g.copy_from(random_vector(engine, total));
    std::vector<kernels::AdamRates> now;
    for (int m = 0; m < all.number(); ++m) {
      const bool has_gradient = m != 1 || step > 1;
      all.begin_step(m, has_gradient);
      each[m].begin_step(0, has_gradient);
      EXPECT_EQ(all.steps(m), each[m].steps(0));
      now.push_back(moments.rates(std::max<std::int64_t>(all.steps(m), 1), 0.1));
    }
    kernels::Array<kernels::AdamRates> rates;
    rates.copy_from(now);
    for (const bool plain : {true, false}) {
      all.step(plain, moments, x.data(), g.data(), rates.data());
      for (int m = 0; m < all.number(); ++m)
        each[m].step(plain, alone, y.data(), g.data(), rates.data() + m);
    }
  }
  const std::vector<double> found = x.to_host(), expected = y.to_host();
  // products of several matrices may be summed in another order: 1e-16 times the condition of the means
  EXPECT_LT(difference(found, expected), 1e-11);
  EXPECT_LT(difference(moments.mean.to_host(), alone.mean.to_host()), 1e-11);
  EXPECT_GT(difference(found, start), 0.1);
  for (std::size_t k = 0; k < total; ++k) {
    const bool inside = std::any_of(offsets.begin(), offsets.end(), [&](long offset) {
      return static_cast<long>(k) >= offset && static_cast<long>(k) < offset + rows * cols;
    });
    EXPECT_EQ(found[k] != start[k], inside) << k;
  }
  std::vector<double> state(SoapMatrices<double>::state_size(config, rows, cols)), other(state);
  for (int m = 0; m < all.number(); ++m) {
    EXPECT_EQ(all.pack(m, state.data()), state.data() + state.size());
    each[m].pack(0, other.data());
    EXPECT_LT(difference(state, other), 1e-11);
  }
}

TEST(Soap, MemoryDoesNotGrowWithTheSteps)
{
  const auto optimizer = make(soap(3), blocks());
  const std::size_t before = optimizer->memory_bytes();
  RandomEngine engine(1);
  std::vector<double> x = random_vector(engine, 40);
  for (int step = 0; step < 10; ++step) take_step(*optimizer, x, random_vector(engine, 40), 0.01);
  EXPECT_EQ(optimizer->memory_bytes(), before);
  // two moments of 40, two buffers and three square matrices per side for [4][3] and [3][3], where these begin, and
  // the three ranges of the vectors
  EXPECT_EQ(before, 8 * (2 * 40 + 2 * (12 + 9) + 3 * (16 + 9 + 9 + 9) + 2) + 3 * 16);
}

}  // namespace dptrain::test
