// Matrix products against sums in long double, and the reduced precision of `mixed`.
#include "potential/nets/gemm.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

struct Product {
  int m, n, k;
  bool transpose_a, transpose_b;
  double alpha, beta;
  Vec a, b, c;

  Product(int m_, int n_, int k_, bool ta, bool tb, double alpha_, double beta_) :
      m(m_), n(n_), k(k_), transpose_a(ta), transpose_b(tb), alpha(alpha_), beta(beta_)
  {
    RandomEngine engine(5);
    a = random_vector(m * k, engine);  // numbers that float32 holds
    b = random_vector(k * n, engine);
    c = random_vector(m * n, engine);
  }

  Vec expected() const
  {
    Vec result(m * n);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        long double sum = 0.0;
        for (int l = 0; l < k; ++l)
          sum += static_cast<long double>(transpose_a ? a[l * m + i] : a[i * k + l]) *
                 (transpose_b ? b[j * k + l] : b[l * n + j]);
        result[i * n + j] = static_cast<double>(alpha * sum + beta * c[i * n + j]);
      }
    return result;
  }

  template <class Real> Vec compute() const
  {
    const auto x = in_kernels<Real>(a), y = in_kernels<Real>(b);
    auto z = in_kernels<Real>(c);
    gemm<Real>(transpose_a, transpose_b, m, n, k, static_cast<Real>(alpha), x.data(), y.data(),
               static_cast<Real>(beta), z.data());
    return to_host(z);
  }
};

// Norm of the difference over the norm of alpha op(a) op(b).
double error(const Vec &found, const Product &p)
{
  const Vec expected = p.expected();
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(found[i] - expected[i], 2);
    norm += std::pow(expected[i] - p.beta * p.c[i], 2);
  }
  return std::sqrt(difference / norm);
}

std::vector<Product> products()
{
  return {{128, 50, 100, false, false, 1.0, 0.0},
          {100, 50, 128, true, false, 1.0, 1.0},
          {128, 100, 50, false, true, 1.0, 0.0},
          {64, 32, 48, true, true, -0.5, 2.0},
          {48, 64, 32, false, false, 2.0, 0.0}};
}

TEST(Gemm, IsTheSumOfProducts)
{
  for (const Product &p : products()) {
    EXPECT_LT(error(p.compute<double>(), p), 1e-14);
    EXPECT_LT(error(p.compute<float>(), p), 1e-6);
  }
}

// Operands and product are rounded to 8 binary digits, each with a relative error of up to 2^-9, 1.7e-3 in the root
// mean square: together 2.9e-3, that of a term beta c included where it is larger. TF32 has 11 digits.
TEST(Gemm, ReducedPrecisionKeepsTheDigitsOfBfloat16)
{
  for (const Product &p : products()) {
    const ReducedPrecision on(true);
    const double found = error(p.compute<float>(), p);
    EXPECT_LT(found, 4e-3);
    if (ReducedPrecision::has_effect()) {
      EXPECT_GT(found, 1e-4);
    }
    EXPECT_LT(error(p.compute<double>(), p), 1e-14) << "double is never reduced";
  }
}

// alpha, beta and c stay float32: what was there is not rounded when a small product is added.
TEST(Gemm, ReducedPrecisionAddsInFloat32)
{
  Product p(64, 64, 64, true, false, 1e-6, 1.0);
  const ReducedPrecision on(true);
  const Vec found = p.compute<float>(), expected = p.expected();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
}

// The last layer has one column: the energies of the atoms keep their digits.
TEST(Gemm, ReducedPrecisionLeavesThinProducts)
{
  const Product p(128, 1, 64, false, false, 1.0, 0.0);
  const ReducedPrecision on(true);
  EXPECT_LT(error(p.compute<float>(), p), 1e-6);
}

TEST(Gemm, ReducedPrecisionEndsWithItsScope)
{
  const Product p = products().front();
  const Vec before = p.compute<float>();
  {
    const ReducedPrecision on(true);
    p.compute<float>();
  }
  EXPECT_EQ(p.compute<float>(), before);
  const ReducedPrecision off(false);
  EXPECT_EQ(p.compute<float>(), before);
}

// The setting of LibTorch belongs to the host program.
TEST(Gemm, ReducedPrecisionLeavesLibTorchAsItWas)
{
  auto &context = at::globalContext();
  const Product p = products().front();
  for (const char *own : {"high", "highest"}) {
    context.setFloat32MatmulPrecision(own);
    const auto before = context.float32MatmulPrecision();
    {
      const ReducedPrecision outer(true);
      const Vec reduced = p.compute<float>();
      {
        const ReducedPrecision inner(true);
      }
      EXPECT_EQ(p.compute<float>(), reduced) << "the inner one ended the outer one";
      EXPECT_NE(context.float32MatmulPrecision(), before);
    }
    EXPECT_EQ(context.float32MatmulPrecision(), before);
  }
}

}  // namespace
}  // namespace dptrain::test
