// D = T^T T_<, its tangent and their transposes.
#include "kernels/descriptor.h"
#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

template <class Real> class DescriptorTest : public testing::Test {
 protected:
  // more axis channels than one block of the kernel, and padded channels
  static constexpr kernels::DescriptorShape shape_{3, 24, 21, 18};
  static constexpr int nt_ = 3 * 4 * 24, nd_ = 3 * 21 * 18;

  DescriptorTest()
  {
    for (Vec *v : {&t_, &t_dot_})
      for (int k = 0; k < nt_; ++k)
        if (k % 24 >= 21) (*v)[k] = 0.0;
  }
  Vec value(const Vec &t) const
  {
    auto d = zeros<Real>(nd_);
    kernels::descriptor_value(shape_, in_kernels<Real>(t).data(), d.data());
    return to_host(d);
  }
  Vec tangent(const Vec &t, const Vec &t_dot) const
  {
    auto d = zeros<Real>(nd_);
    kernels::descriptor_jvp(shape_, in_kernels<Real>(t).data(), in_kernels<Real>(t_dot).data(),
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
          for (int c = 0; c < 4; ++c) d.back() += t[(4 * i + c) * 24 + m] * t[(4 * i + c) * 24 + a];
        }
    return d;
  }

  RandomEngine engine_{5};
  Vec t_ = random_vector(nt_, engine_), t_dot_ = random_vector(nt_, engine_);
  Vec g_ = random_vector(nd_, engine_), e_ = random_vector(nd_, engine_);
};
TYPED_TEST_SUITE(DescriptorTest, Precisions, PrecisionName);

TYPED_TEST(DescriptorTest, ValueByTheDefinition)
{
  expect_close(this->value(this->t_), this->by_definition(this->t_), rounding<TypeParam>);
}

TYPED_TEST(DescriptorTest, TangentIsTheDerivative)
{
  // D is quadratic: central differences with any step are exact
  const Vec plus = this->by_definition(moved(this->t_, 0.5, this->t_dot_)),
            minus = this->by_definition(moved(this->t_, -0.5, this->t_dot_));
  expect_close(this->tangent(this->t_, this->t_dot_), moved(plus, -1.0, minus),
               rounding<TypeParam>);
}

TYPED_TEST(DescriptorTest, ReverseIsTheTransposeOfTheTangent)
{
  auto g_t = in_kernels<TypeParam>(Vec(this->nt_, 3.0));
  kernels::descriptor_reverse(this->shape_, in_kernels<TypeParam>(this->t_).data(),
                              in_kernels<TypeParam>(this->g_).data(), g_t.data());
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
  expect_close(found, expected, rounding<TypeParam>);
}

// dS/dT of S = g . D - e . D_dot.
TYPED_TEST(DescriptorTest, ReverseOfValueAndTangent)
{
  auto g_t = in_kernels<TypeParam>(Vec(this->nt_, 3.0));
  kernels::descriptor_jvp_reverse(this->shape_, in_kernels<TypeParam>(this->t_).data(),
                                  in_kernels<TypeParam>(this->t_dot_).data(),
                                  in_kernels<TypeParam>(this->g_).data(),
                                  in_kernels<TypeParam>(this->e_).data(), g_t.data());
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
  expect_close(found, expected, 20 * rounding<TypeParam>);
}

}  // namespace
}  // namespace dptrain::test
