// D = T^T T_<, its tangent and their transposes, with the four rows of the library and with nine.
#include "kernels/gram_kernels.h"

#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

template <class R, int n> struct Case {
  using Real = R;
  static constexpr int rows = n;
};
using Cases = testing::Types<Case<double, 4>, Case<float, 4>, Case<double, 9>, Case<float, 9>>;

struct CaseName {
  template <class Case> static std::string GetName(int)
  {
    return std::to_string(Case::rows) + "_rows_" + PrecisionName::GetName<typename Case::Real>(0);
  }
};

template <class Case> class GramTest : public testing::Test {
 protected:
  using Real = typename Case::Real;
  static constexpr int rows_ = Case::rows;
  // more axis channels than one block of the kernel, and padded channels
  static constexpr kernels::GramShape shape_{3, 24, 21, 18};
  static constexpr int nt_ = 3 * rows_ * 24, nd_ = 3 * 21 * 18;

  GramTest()
  {
    for (Vec *v : {&t_, &t_dot_})
      for (int k = 0; k < nt_; ++k)
        if (k % 24 >= 21) (*v)[k] = 0.0;
  }
  Vec value(const Vec &t) const
  {
    auto d = zeros<Real>(nd_);
    kernels::gram_value<rows_>(shape_, in_kernels<Real>(t).data(), d.data());
    return to_host(d);
  }
  Vec tangent(const Vec &t, const Vec &t_dot) const
  {
    auto d = zeros<Real>(nd_);
    kernels::gram_jvp<rows_>(shape_, in_kernels<Real>(t).data(), in_kernels<Real>(t_dot).data(),
                             d.data());
    return to_host(d);
  }
  static Vec by_definition(const Vec &t)
  {
    Vec d;
    for (int i = 0; i < shape_.centers; ++i)
      for (int m = 0; m < shape_.channels; ++m)
        for (int a = 0; a < shape_.axis; ++a) {
          d.push_back(0.0);
          for (int row = rows_ * i; row < rows_ * (i + 1); ++row)
            d.back() += t[row * 24 + m] * t[row * 24 + a];
        }
    return d;
  }

  RandomEngine engine_{5};
  Vec t_ = random_vector(nt_, engine_), t_dot_ = random_vector(nt_, engine_);
  Vec g_ = random_vector(nd_, engine_), e_ = random_vector(nd_, engine_);
};
TYPED_TEST_SUITE(GramTest, Cases, CaseName);

TYPED_TEST(GramTest, ValueByTheDefinition)
{
  expect_close(this->value(this->t_), this->by_definition(this->t_),
               rounding<typename TypeParam::Real>);
}

TYPED_TEST(GramTest, TangentIsTheDerivative)
{
  // D is quadratic: central differences with any step are exact
  const Vec plus = this->by_definition(moved(this->t_, 0.5, this->t_dot_)),
            minus = this->by_definition(moved(this->t_, -0.5, this->t_dot_));
  expect_close(this->tangent(this->t_, this->t_dot_), moved(plus, -1.0, minus),
               rounding<typename TypeParam::Real>);
}

TYPED_TEST(GramTest, ReverseIsTheTransposeOfTheTangent)
{
  auto g_t = in_kernels<typename TypeParam::Real>(Vec(this->nt_, 3.0));
  kernels::gram_reverse<TypeParam::rows>(
      this->shape_, in_kernels<typename TypeParam::Real>(this->t_).data(),
      in_kernels<typename TypeParam::Real>(this->g_).data(), g_t.data());
  const Vec found = to_host(g_t);
  for (int k = 0; k < this->nt_; ++k)
    if (k % 24 >= 21) {
      EXPECT_EQ(found[k], 0.0) << k;
    }
  Vec expected, unit(this->nt_, 0.0);
  for (int k = 0; k < this->nt_; ++k) {
    unit[k] = k % 24 < 21 ? 1.0 : 0.0;
    const Vec d_dot = moved(this->by_definition(moved(this->t_, 0.5, unit)), -1.0,
                            this->by_definition(moved(this->t_, -0.5, unit)));
    expected.push_back(dot(this->g_, d_dot));
    unit[k] = 0.0;
  }
  expect_close(found, expected, rounding<typename TypeParam::Real>);
}

// dS/dT of S = g . D - e . D_dot.
TYPED_TEST(GramTest, ReverseOfValueAndTangent)
{
  auto g_t = in_kernels<typename TypeParam::Real>(Vec(this->nt_, 3.0));
  kernels::gram_jvp_reverse<TypeParam::rows>(
      this->shape_, in_kernels<typename TypeParam::Real>(this->t_).data(),
      in_kernels<typename TypeParam::Real>(this->t_dot_).data(),
      in_kernels<typename TypeParam::Real>(this->g_).data(),
      in_kernels<typename TypeParam::Real>(this->e_).data(), g_t.data());
  const Vec found = to_host(g_t);
  const auto scalar = [&](const Vec &t) {
    const Vec plus = this->by_definition(moved(t, 0.5, this->t_dot_)),
              minus = this->by_definition(moved(t, -0.5, this->t_dot_));
    return dot(this->g_, this->by_definition(t)) - dot(this->e_, moved(plus, -1.0, minus));
  };
  Vec expected, unit(this->nt_, 0.0);
  for (int k = 0; k < this->nt_; ++k) {
    unit[k] = k % 24 < 21 ? 1.0 : 0.0;
    expected.push_back(scalar(moved(this->t_, 0.5, unit)) - scalar(moved(this->t_, -0.5, unit)));
    unit[k] = 0.0;
  }
  // differences of sums of a thousand terms: rounding of some 1e-13
  expect_close(found, expected, 20 * rounding<typename TypeParam::Real>);
}

}  // namespace
}  // namespace dptrain::test
