// The fitting net against one written by hand, and its gradient against differences of S = sum_i c_i E_i - E_dot.
#include "potential/nets/fitting_net.h"

#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

constexpr int n = 4, inputs = 5;

struct NetCase {
  friend void PrintTo(const NetCase &c, std::ostream *out) { *out << c.name; }
  std::string name, activation;
  bool idt;
  std::vector<std::array<int, 3>> shapes;  // in, out, skip
};

/// All kinds of skip connections, with and without idt.
std::vector<NetCase> net_cases()
{
  return {{"tanh_plain", "tanh", false, {{{5, 7, 0}, {7, 6, 0}, {6, 1, 0}}}},
          {"tanh_skip", "tanh", true, {{{5, 7, 0}, {7, 7, 1}, {7, 14, 2}, {14, 1, 0}}}},
          {"tanh_skip_first", "tanh", false, {{{5, 5, 1}, {5, 10, 2}, {10, 10, 1}, {10, 1, 0}}}},
          {"gelu_doubled_first", "gelu", true, {{{5, 10, 2}, {10, 10, 1}, {10, 3, 0}, {3, 1, 0}}}},
          {"gelu_plain", "gelu", false, {{{5, 6, 0}, {6, 1, 0}}}},
          {"single_layer", "gelu", false, {{{5, 1, 0}}}}};
}

struct Net {
  std::vector<Layer> layers;
  std::size_t size = 3;  // parameters that belong to somebody else stand before

  explicit Net(const NetCase &c)
  {
    for (std::size_t l = 0; l < c.shapes.size(); ++l) {
      const auto &[in, out, skip] = c.shapes[l];
      const bool last = l + 1 == c.shapes.size();
      Layer layer{in,
                  out,
                  kernels::Activation::from_name(last ? "linear" : c.activation),
                  c.idt && !last,
                  skip,
                  size,
                  size + in * out,
                  size + in * out + out};
      layers.push_back(layer);
      size += in * out + out + (layer.has_idt ? out : 0);
    }
  }
  static double act(const Layer &layer, double z)
  {
    if (layer.activation.kind == kernels::ActivationKind::tanh) return std::tanh(z);
    if (layer.activation.kind == kernels::ActivationKind::gelu)
      return 0.5 * z * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (z + 0.044715 * z * z * z)));
    return z;
  }
  /// The energy of one atom, in plain loops.
  double by_hand(const Vec &p, Vec x) const
  {
    for (const Layer &layer : layers) {
      Vec y(layer.out);
      for (int m = 0; m < layer.out; ++m) {
        double z = p[layer.b + m];
        for (int k = 0; k < layer.in; ++k) z += x[k] * p[layer.w + k * layer.out + m];
        y[m] = (layer.has_idt ? p[layer.idt + m] : 1.0) * act(layer, z);
        if (layer.skip > 0) y[m] += x[m % layer.in];
      }
      x = y;
    }
    return x[0];
  }
  double energy(const Vec &p, const Vec &d, int i) const
  {
    return by_hand(p, Vec(d.begin() + i * inputs, d.begin() + (i + 1) * inputs));
  }
  /// The tangent of the sum of energies, from five points: errors of 1e-3^4 and 1e-16 / 1e-3.
  double tangent(const Vec &p, const Vec &d, const Vec &d_dot) const
  {
    const double h = 1e-3;
    double sum = 0.0;
    for (int i = 0; i < n; ++i)
      for (const auto &[step, weight] : {std::pair{h, 8.0}, {2 * h, -1.0}})
        sum +=
            weight * (energy(p, moved(d, step, d_dot), i) - energy(p, moved(d, -step, d_dot), i));
    return sum / (12.0 * h);
  }
};

/// What the three sweeps give, in one precision.
template <class Real> struct Sweeps {
  Vec energies, slopes, written, gradient, s_d;  // written: where nothing was, gradient: added

  Sweeps(const Net &net, const Vec &p, const Vec &d, const Vec &c, const Vec &d_dot)
  {
    FittingNet<Real> fitting(net.layers);
    FittingState<Real> state;
    const auto parameters = in_kernels<Real>(p);
    for (int repeat = 0; repeat < 2;
         ++repeat) {  // nothing of the first round may be left in the second
      const bool add = repeat == 1;
      kernels::convert(in_kernels<double>(d).data(), n * inputs,
                       fitting.descriptors(n, true, state));
      energies = host(fitting.forward(parameters.data(), state), n);
      slopes = host(fitting.reverse(parameters.data(), nullptr, state), n * inputs);
      kernels::convert(in_kernels<double>(d_dot).data(), n * inputs,
                       fitting.descriptor_tangents(state));
      auto sum = in_kernels<Real>(Vec(p.size(), add ? 1.0 : NAN));
      s_d = host(
          fitting.gradient(parameters.data(), in_kernels<Real>(c).data(), state, add, sum.data()),
          n * inputs);
      gradient = to_host(sum);
      if (add)
        gradient = moved(gradient, -1.0, Vec(p.size(), 1.0));
      else
        written = gradient;
    }
  }
  static Vec host(const Real *values, int size)
  {
    std::vector<Real> copy(size);
    kernels::copy_out(copy.data(), values, size * sizeof(Real));
    return Vec(copy.begin(), copy.end());
  }
};

class FittingNetTest : public testing::TestWithParam<NetCase> {
 protected:
  Net net_{GetParam()};
  RandomEngine engine_{7};
  Vec p_ = half(random_vector(net_.size, engine_)), d_ = random_vector(n * inputs, engine_),
      d_dot_ = half(random_vector(n * inputs, engine_)), c_ = random_vector(n, engine_);
  Sweeps<double> found_{net_, p_, d_, c_, d_dot_};

  static Vec half(Vec v)
  {
    for (double &x : v) x *= 0.5;
    return v;
  }
  double scalar(const Vec &p, const Vec &d) const
  {
    double sum = -net_.tangent(p, d, d_dot_);
    for (int i = 0; i < n; ++i) sum += c_[i] * net_.energy(p, d, i);
    return sum;
  }
  /// Derivatives of f(values) by each of the values: h^2 = 1e-10 times third derivatives, rounding 1e-13 / h.
  template <class F> static Vec differences(Vec values, const F &f)
  {
    const double h = 1e-5;
    Vec all;
    for (double &x : values) {
      const double keep = x;
      x = keep + h;
      const double plus = f(values);
      x = keep - h;
      all.push_back((plus - f(values)) / (2.0 * h));
      x = keep;
    }
    return all;
  }
};

TEST_P(FittingNetTest, EnergiesByHand)
{
  Vec expected;
  for (int i = 0; i < n; ++i) expected.push_back(net_.energy(p_, d_, i));
  expect_close(found_.energies, expected, 1e-14);
}

TEST_P(FittingNetTest, SlopesAreTheDerivativesByTheDescriptors)
{
  const Vec expected = differences(d_, [&](const Vec &d) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += net_.energy(p_, d, i);
    return sum;
  });
  expect_close(found_.slopes, expected, 1e-8);
}

TEST_P(FittingNetTest, GradientByTheParameters)
{
  const Vec expected = differences(p_, [&](const Vec &p) { return scalar(p, d_); });
  ASSERT_GT(largest(expected), 0.1);
  expect_close(found_.gradient, expected, 1e-7);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(found_.gradient[k], 0.0);  // not of this net
  const auto of_net = [](const Vec &v) { return Vec(v.begin() + 3, v.end()); };
  expect_close(of_net(found_.written), of_net(found_.gradient), 1e-12, "first gradient");
}

TEST_P(FittingNetTest, GradientByTheDescriptors)
{
  expect_close(found_.s_d, differences(d_, [&](const Vec &d) { return scalar(p_, d); }), 1e-7);
}

// Rounding of float32, some ten units in the last place; the second derivatives of gelu lose a digit more.
TEST_P(FittingNetTest, Float32IsClose)
{
  const Sweeps<float> narrow(net_, p_, d_, c_, d_dot_);
  expect_close(narrow.energies, found_.energies, 2e-6, "energies");
  expect_close(narrow.slopes, found_.slopes, 2e-6, "slopes");
  expect_close(narrow.gradient, found_.gradient, 5e-6, "gradient");
  expect_close(narrow.s_d, found_.s_d, 5e-6, "dS/dD");
}

INSTANTIATE_TEST_SUITE_P(Nets, FittingNetTest, testing::ValuesIn(net_cases()),
                         [](const auto &info) { return info.param.name; });

// Blocks of another size with the same workspace.
TEST(FittingNet, FewerAndMoreAtoms)
{
  const Net net(net_cases()[1]);
  RandomEngine engine(3);
  const Vec p = random_vector(net.size, engine);
  const auto parameters = in_kernels<double>(p);
  FittingNet<double> fitting(net.layers);
  FittingState<double> state;
  for (int atoms : {2, 9, 1, 4}) {
    const Vec d = random_vector(atoms * inputs, engine);
    kernels::convert(in_kernels<double>(d).data(), atoms * inputs,
                     fitting.descriptors(atoms, false, state));
    const Vec e = Sweeps<double>::host(fitting.forward(parameters.data(), state), atoms);
    fitting.reverse(parameters.data(), nullptr, state);
    for (int i = 0; i < atoms; ++i) EXPECT_NEAR(e[i], net.energy(p, d, i), 1e-12);
  }
}

}  // namespace
}  // namespace dptrain::test
