// The elementwise half of a fitting-net layer in the four sweeps of training, by differences of the layer's definition.
#include "kernels/layer.h"
#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

constexpr int n = 5, in = 35;

// The activation of these tests: f(z) = sin(z).
struct Case {
  int skip;
  bool idt;
  int out() const { return skip == 2 ? 2 * in : (skip == 1 ? in : 70); }
};

std::vector<Case> cases()
{
  std::vector<Case> all;
  for (int skip = 0; skip < 3; ++skip)
    for (bool idt : {false, true}) all.push_back({skip, idt});
  return all;
}

/// One layer without its matrix product: y = idt * sin(z) + skip(x), where z and x move on their own.
template <class Real> struct LayerData {
  explicit LayerData(const Case &c) : c_(c), nz_(n * c.out()), nx_(n * in)
  {
    for (Vec *v : {&z, &z_dot, &g_y, &g_y_dot}) *v = random_vector(nz_, engine);
    for (Vec *v : {&x, &x_dot}) *v = random_vector(nx_, engine);
    idt = c.idt ? random_vector(c.out(), engine) : Vec();
    idt_ = in_kernels<Real>(idt);
  }
  Vec value(const Vec &z_now, const Vec &x_now, const Vec &idt_now) const
  {
    Vec y(nz_);
    for (int k = 0; k < nz_; ++k) {
      const int i = k / c_.out(), m = k % c_.out();
      y[k] = (c_.idt ? idt_now[m] : 1.0) * std::sin(z_now[k]);
      if (c_.skip > 0) y[k] += x_now[i * in + m % in];
    }
    return y;
  }
  /// The tangent of y along z_dot and x_dot.
  Vec tangent(const Vec &z_now, const Vec &idt_now) const
  {
    Vec y(nz_);
    for (int k = 0; k < nz_; ++k) {
      const int i = k / c_.out(), m = k % c_.out();
      y[k] = (c_.idt ? idt_now[m] : 1.0) * std::cos(z_now[k]) * z_dot[k];
      if (c_.skip > 0) y[k] += x_dot[i * in + m % in];
    }
    return y;
  }
  kernels::LayerShape<Real> shape() const
  {
    return {n, in, c_.out(), c_.skip, c_.idt ? idt_.data() : nullptr};
  }
  kernels::Array<Real> f(int order) const
  {
    Vec v = z;
    for (double &a : v) a = order == 0 ? std::sin(a) : (order == 1 ? std::cos(a) : -std::sin(a));
    return in_kernels<Real>(v);
  }

  Case c_;
  int nz_, nx_;
  RandomEngine engine{17};
  Vec z, x, z_dot, x_dot, g_y, g_y_dot, idt;
  kernels::Array<Real> idt_;
};

// What has gone through the skip connection, backwards.
template <class Real> Vec skip_backwards(const LayerData<Real> &l, const Vec &g)
{
  Vec sum(l.nx_, 0.0);
  for (int k = 0; k < l.nz_; ++k) sum[k / l.c_.out() * in + k % l.c_.out() % in] += g[k];
  return sum;
}

template <class Real> class LayerTest : public testing::Test {
 protected:
  using Data = LayerData<Real>;
  static kernels::Array<Real> array(const Vec &v) { return in_kernels<Real>(v); }
};
TYPED_TEST_SUITE(LayerTest, Precisions, PrecisionName);

// tanh, since layer_value takes the activation itself: with its derivatives, and y = idt tanh(z + bias) + skip(x).
TYPED_TEST(LayerTest, Value)
{
  const auto activation = kernels::Activation::from_name("tanh");
  for (const Case &c : cases())
    for (bool second : {true, false}) {
      typename TestFixture::Data l(c);
      const Vec bias = random_vector(c.out(), l.engine);
      auto f0 = this->array(l.z), f1 = zeros<TypeParam>(l.nz_), f2 = this->array(Vec(l.nz_, 4.0)),
           y = zeros<TypeParam>(l.nz_);
      kernels::layer_value(l.shape(), activation, this->array(bias).data(), this->array(l.x).data(),
                           f0.data(), f1.data(), second ? f2.data() : nullptr, y.data());
      Vec e0, e1, e2, ey;
      for (int k = 0; k < l.nz_; ++k) {
        const int i = k / c.out(), m = k % c.out();
        const double t = std::tanh(l.z[k] + bias[m]);
        e0.push_back(t);
        e1.push_back(1.0 - t * t);
        e2.push_back(second ? -2.0 * t * (1.0 - t * t) : 4.0);
        ey.push_back((c.idt ? l.idt[m] : 1.0) * t + (c.skip > 0 ? l.x[i * in + m % in] : 0.0));
      }
      expect_close(to_host(f0), e0, rounding<TypeParam>, "f0");
      expect_close(to_host(f1), e1, rounding<TypeParam>, "f1");
      expect_close(to_host(f2), e2, rounding<TypeParam>, "f2");
      expect_close(to_host(y), ey, rounding<TypeParam>, "y");
    }
}

TYPED_TEST(LayerTest, Tangent)
{
  for (const Case &c : cases()) {
    const typename TestFixture::Data l(c);
    auto y_dot = zeros<TypeParam>(l.nz_);
    kernels::layer_tangent(l.shape(), l.f(1).data(), this->array(l.z_dot).data(),
                           this->array(l.x_dot).data(), y_dot.data());
    const double h = 1e-5;
    const Vec plus = l.value(moved(l.z, h, l.z_dot), moved(l.x, h, l.x_dot), l.idt),
              minus = l.value(moved(l.z, -h, l.z_dot), moved(l.x, -h, l.x_dot), l.idt);
    Vec expected = moved(plus, -1.0, minus);
    for (double &v : expected) v /= 2 * h;
    // h^2 = 1e-10 times a third derivative of up to 30 in the direction z_dot
    expect_close(to_host(y_dot), expected, 1e-8 + rounding<TypeParam>, "tangent");
  }
}

TYPED_TEST(LayerTest, ReverseIsTheDerivativeOfTheScalar)
{
  for (const Case &c : cases()) {
    const typename TestFixture::Data l(c);
    auto g_z = zeros<TypeParam>(l.nz_), g_x = this->array(Vec(l.nx_, 4.0));
    kernels::layer_reverse(l.shape(), l.f(1).data(), this->array(l.g_y).data(), g_z.data(),
                           g_x.data());
    const double h = 1e-5;
    const Vec one(l.nz_, 1.0), plus = l.value(moved(l.z, h, one), l.x, l.idt),
                               minus = l.value(moved(l.z, -h, one), l.x, l.idt);
    Vec expected(l.nz_);
    for (int k = 0; k < l.nz_; ++k) expected[k] = l.g_y[k] * (plus[k] - minus[k]) / (2 * h);
    expect_close(to_host(g_z), expected, 1e-8 + rounding<TypeParam>, "g_z");
    expect_close(to_host(g_x), c.skip > 0 ? skip_backwards(l, l.g_y) : Vec(l.nx_, 4.0),
                 rounding<TypeParam>, "g_x");
  }
}

// The tangent of g_z = idt f'(z) g_y along z_dot and g_y_dot.
TYPED_TEST(LayerTest, TangentOfTheReverse)
{
  for (const Case &c : cases())
    for (bool with : {true, false}) {
      typename TestFixture::Data l(c);
      if (!with) l.g_y_dot.assign(l.nz_, 0.0);
      const auto g_y_dot = this->array(l.g_y_dot);
      const Vec weight = random_vector(n, l.engine);
      auto x_dot = this->array(l.x_dot);
      auto minus_g_z_dot = zeros<TypeParam>(l.nz_), g_x_dot = this->array(Vec(l.nx_, 4.0));
      kernels::layer_reverse_tangent(
          l.shape(), l.f(1).data(), l.f(2).data(), this->array(l.z_dot).data(),
          this->array(l.g_y).data(), with ? g_y_dot.data() : nullptr, this->array(weight).data(),
          this->array(l.x).data(), x_dot.data(), minus_g_z_dot.data(), g_x_dot.data());
      const double h = 1e-5;
      const auto g_z = [&](double step, int k) {
        const double factor = c.idt ? l.idt[k % c.out()] : 1.0;
        return factor * std::cos(l.z[k] + step * l.z_dot[k]) * (l.g_y[k] + step * l.g_y_dot[k]);
      };
      Vec expected;
      for (int k = 0; k < l.nz_; ++k) expected.push_back(-(g_z(h, k) - g_z(-h, k)) / (2 * h));
      expect_close(to_host(minus_g_z_dot), expected, 1e-8 + rounding<TypeParam>, "g_z_dot");
      if (with || c.skip > 0)
        expect_close(to_host(g_x_dot), c.skip > 0 ? skip_backwards(l, l.g_y_dot) : Vec(l.nx_, 4.0),
                     rounding<TypeParam>, "g_x_dot");
      Vec left;
      for (int k = 0; k < l.nx_; ++k) left.push_back(weight[k / in] * l.x[k] - l.x_dot[k]);
      expect_close(to_host(x_dot), left, rounding<TypeParam>, "c x - x_dot");
    }
}

// S = sum_i c_i E_i - E_dot with E = g_y . y at fixed g_y, by differences in bias (a shift of z) and idt. With a g_y that
// has a tangent itself, E_dot = g_y . y_dot + g_y_dot . y.
TYPED_TEST(LayerTest, GradientOfBiasAndIdt)
{
  for (const Case &c : cases())
    for (bool with : {true, false}) {
      typename TestFixture::Data l(c);
      if (!with) l.g_y_dot.assign(l.nz_, 0.0);
      const Vec weight = random_vector(n, l.engine);
      auto g_z = zeros<TypeParam>(l.nz_), minus = zeros<TypeParam>(l.nz_);
      auto unused = zeros<TypeParam>(l.nx_), x_dot = this->array(l.x_dot);
      const auto f0 = l.f(0), f1 = l.f(1), z_dot = this->array(l.z_dot), g_y = this->array(l.g_y),
                 g_y_dot = this->array(l.g_y_dot);
      const TypeParam *dot_or_null = with ? g_y_dot.data() : nullptr;
      kernels::layer_reverse(l.shape(), f1.data(), g_y.data(), g_z.data(), unused.data());
      kernels::layer_reverse_tangent(l.shape(), f1.data(), l.f(2).data(), z_dot.data(), g_y.data(),
                                     dot_or_null, this->array(weight).data(),
                                     this->array(l.x).data(), x_dot.data(), minus.data(),
                                     unused.data());
      auto g_bias = this->array(Vec(c.out(), 1.0)), g_idt = this->array(Vec(c.out(), 1.0));
      kernels::layer_gradient(l.shape(), f0.data(), f1.data(), z_dot.data(), g_y.data(),
                              dot_or_null, g_z.data(), minus.data(), this->array(weight).data(),
                              g_bias.data(), c.idt ? g_idt.data() : nullptr);

      const auto scalar = [&](const Vec &z, const Vec &idt, Vec &by_column) {
        const Vec y = l.value(z, l.x, idt), y_dot = l.tangent(z, idt);
        for (int k = 0; k < l.nz_; ++k)
          by_column[k % c.out()] +=
              weight[k / c.out()] * l.g_y[k] * y[k] - l.g_y[k] * y_dot[k] - l.g_y_dot[k] * y[k];
      };
      const double h = 1e-5;
      const auto difference = [&](double dz, double didt) {
        Vec plus(c.out(), 0.0), less(c.out(), 0.0), idt_plus = l.idt, idt_less = l.idt;
        for (double &v : idt_plus) v += h * didt;
        for (double &v : idt_less) v -= h * didt;
        const Vec one(l.nz_, 1.0);
        scalar(moved(l.z, h * dz, one), idt_plus, plus);
        scalar(moved(l.z, -h * dz, one), idt_less, less);
        Vec sum = moved(plus, -1.0, less);
        for (double &v : sum) v = v / (2 * h) + 1.0;  // it adds to what was there
        return sum;
      };
      expect_close(to_host(g_bias), difference(1.0, 0.0), 1e-8 + rounding<TypeParam>, "bias");
      expect_close(to_host(g_idt), c.idt ? difference(0.0, 1.0) : Vec(c.out(), 1.0),
                   1e-8 + rounding<TypeParam>, "idt");
    }
}

TYPED_TEST(LayerTest, SmallKernels)
{
  RandomEngine engine(2);
  const Vec c = random_vector(3, engine), x = random_vector(12, engine),
            x_dot = random_vector(12, engine);
  auto result = this->array(x_dot);
  kernels::scale_and_subtract(3, 4, this->array(c).data(), this->array(x).data(), result.data());
  Vec expected;
  for (int k = 0; k < 12; ++k) expected.push_back(c[k / 4] * x[k] - x_dot[k]);
  expect_close(to_host(result), expected, rounding<TypeParam>);

  // more numbers than one block of the kernels, and not a multiple of it
  const Vec many = random_vector(4096 * 2 + 77, engine);
  auto target = zeros<TypeParam>(many.size());
  kernels::convert(in_kernels<double>(many).data(), long(many.size()), target.data());
  EXPECT_EQ(to_host(target), many);  // random_vector gives numbers that float32 holds
  auto sum = in_kernels<double>(Vec(many.size(), 0.25));
  kernels::add_converted(target.data(), long(many.size()), sum.data());
  EXPECT_EQ(to_host(sum), moved(Vec(many.size(), 0.25), 1.0, many));
}

}  // namespace
}  // namespace dptrain::test
