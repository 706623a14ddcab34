// The power spectrum: harmonics and radial functions against their definitions, D against sums over pairs of neighbors, and the
// functions of the descriptor against differences.
#include "potential/descriptor/power_spectrum.h"

#include "kernels/harmonics.h"
#include "potential/native/deep_pot.h"
#include "support/both_passes.h"
#include "support/energy_derivatives.h"
#include "support/kernel_data.h"
#include "support/power_spectrum_model.h"
#include "support/seeded_sum.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double RCUT = 3.2;

using Point = std::array<double, 3>;

template <int l> struct Degree {
  static constexpr int value = l;
};
struct DegreeName {
  template <class Degree> static std::string GetName(int)
  {
    return "l_max_" + std::to_string(Degree::value);
  }
};

/// Not a lambda: nvcc wants a function that a device may call.
struct Store {
  double *to;
  KOKKOS_FUNCTION void operator()(int k, double value) const { to[k] = value; }
};

template <class Degree> class HarmonicsTest : public testing::Test {
 protected:
  static constexpr int l_max_ = Degree::value, number_ = kernels::num_harmonics(l_max_);
  using Harmonics = kernels::Harmonics<l_max_, double, double>;

  static Vec values(const Point &p)
  {
    Vec y(number_);
    Harmonics(p[0], p[1], p[2]).values(Store{y.data()});
    return y;
  }
  Point direction()
  {
    Point v;
    for (double &x : v) x = random_normal(engine_);
    const double length = std::hypot(v[0], v[1], v[2]);
    return {v[0] / length, v[1] / length, v[2] / length};
  }
  RandomEngine engine_{5};
};

using Degrees =
    testing::Types<Degree<0>, Degree<1>, Degree<2>, Degree<3>, Degree<4>, Degree<5>, Degree<6>>;
TYPED_TEST_SUITE(HarmonicsTest, Degrees, DegreeName);

TYPED_TEST(HarmonicsTest, HaveTheAdditionTheoremOfLegendrePolynomials)
{
  for (int trial = 0; trial < 20; ++trial) {
    const Point u = this->direction(), v = this->direction();
    const Vec a = this->values(u), b = this->values(v);
    const double cosine = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    for (int l = 0; l <= this->l_max_; ++l) {
      double sum = 0.0;
      for (int k = l * l; k < (l + 1) * (l + 1); ++k) sum += a[k] * b[k];
      EXPECT_NEAR(sum, std::legendre(l, cosine), 1e-13) << l;
    }
  }
}

// As polynomials, in any direction: central differences, h^2 times third derivatives.
TYPED_TEST(HarmonicsTest, HaveTangentsAndGradients)
{
  constexpr double h = 1e-5, tolerance = 1e-7;
  const Point p = this->direction(), d = this->direction();
  const typename TestFixture::Harmonics harmonics(p[0], p[1], p[2]);
  Vec tangents(this->number_);
  harmonics.tangents(d[0], d[1], d[2], Store{tangents.data()});
  const Vec up = this->values({p[0] + h * d[0], p[1] + h * d[1], p[2] + h * d[2]});
  const Vec down = this->values({p[0] - h * d[0], p[1] - h * d[1], p[2] - h * d[2]});
  const Vec random = random_vector(this->number_, this->engine_);
  double weights[TestFixture::number_], gradient[3];
  std::copy(random.begin(), random.end(), weights);
  harmonics.gradient(weights, gradient);
  double along = 0.0;
  for (int k = 0; k < this->number_; ++k) {
    EXPECT_NEAR(tangents[k], (up[k] - down[k]) / (2 * h), tolerance) << k;
    along += random[k] * tangents[k];
  }
  EXPECT_NEAR(gradient[0] * d[0] + gradient[1] * d[1] + gradient[2] * d[2], along, 1e-12);
}

double basis_by_definition(int k, double r, double rcut, double smth, double scale)
{
  const double u = std::fmin(std::fmax((r - smth) / (rcut - smth), 0.0), 1.0);
  const double w = 1.0 + u * u * u * (-6.0 * u * u + 15.0 * u - 10.0);
  return scale * std::sqrt(2.0 / rcut) * std::sin((k + 1) * pi * r / rcut) / r * w;
}

/// The size of function k.
double amplitude(int k, int size, double rcut)
{
  const auto damping = [rcut](int m) { return 1.0 + 4.0 * m * m / (rcut * rcut); };
  double squares = 0.0;
  for (int m = 0; m < size; ++m) squares += std::pow(damping(m), -2.0);
  return std::sqrt(size / squares) / damping(k);
}

template <class Real> class RadialBasisTest : public testing::Test {
};
TYPED_TEST_SUITE(RadialBasisTest, Precisions, PrecisionName);

TYPED_TEST(RadialBasisTest, FollowsItsDefinition)
{
  constexpr int size = 32;
  constexpr double rcut = 5.5, smth = 0.7, scale = 0.3;
  const kernels::RadialBasis<TypeParam> basis(size, rcut, smth, scale);
  // the recurrence loses a digit and a half
  const double tolerance = sizeof(TypeParam) == 8 ? 1e-13 : 3e-5;
  for (const double r : {0.05, 0.5, 0.7, 0.75, 1.5, 2.75, 4.0, 5.25, 5.4375, 5.5}) {
    const auto x = static_cast<TypeParam>(r);
    basis.evaluate(0, x, 1 / x, [&](int k, TypeParam value, TypeParam slope) {
      const double factor = scale * amplitude(k, size, rcut), size_of = factor * (k + 1), h = 1e-5;
      const auto exact = [&](double d) { return basis_by_definition(k, d, rcut, smth, factor); };
      EXPECT_NEAR(value, exact(x), tolerance * size_of) << r << ' ' << k;
      if (r < rcut)
        EXPECT_NEAR(slope, (exact(x + h) - exact(x - h)) / (2 * h),
                    (tolerance + 1e-8) * size_of * (k + 1) * (1 + 1 / r))
            << r << ' ' << k;
      else
        EXPECT_EQ(slope, 0.0);
    });
  }
}

/// D of an atom by sums over its neighbors and over pairs of them.
Vec by_pairs(const ModelData &data, const Cluster &atoms, int i)
{
  const PowerSpectrumConfig &c = power_spectrum(data.config);
  const int ntypes = data.config.ntypes();
  const double scale = data.descriptor_constants.at("scale")[0];
  std::vector<Vec> g;  // by neighbor and n
  std::vector<Point> u;
  for (std::size_t j = 0; j < atoms.type.size(); ++j) {
    Point d;
    for (int a = 0; a < 3; ++a) d[a] = atoms.x[3 * j + a] - atoms.x[3 * i + a];
    const double r = std::hypot(d[0], d[1], d[2]);
    if (static_cast<int>(j) == i || r >= data.config.rcut) continue;
    bool excluded = false;
    for (const auto &pair : c.exclude_types)
      for (int side = 0; side < 2; ++side)
        excluded = excluded || (pair[side] == atoms.type[i] && pair[1 - side] == atoms.type[j]);
    if (excluded) continue;
    u.push_back({d[0] / r, d[1] / r, d[2] / r});
    g.emplace_back(c.n_max, 0.0);
    for (int n = 0; n < c.n_max; ++n)
      for (int k = 0; k < c.n_basis; ++k) {
        const std::size_t place =
            ((static_cast<std::size_t>(atoms.type[i]) * c.n_max + n) * ntypes + atoms.type[j]) *
                c.n_basis +
            k;
        g.back()[n] += data.parameters[place] * amplitude(k, c.n_basis, data.config.rcut) *
                       basis_by_definition(k, r, data.config.rcut, c.rcut_smth, scale);
      }
  }
  Vec all(c.size(), 0.0);
  for (int n = 0; n < c.n_max; ++n)
    for (const Vec &of_neighbor : g) all[n] += of_neighbor[n];
  for (int l = 0; l <= c.l_max; ++l)
    for (int q = 0; q < c.axis_neuron; ++q)
      for (int n = 0; n < c.n_max; ++n)
        for (std::size_t j = 0; j < g.size(); ++j)
          for (std::size_t k = 0; k < g.size(); ++k)
            all[c.n_max * (1 + l * c.axis_neuron + q) + n] +=
                g[j][n] * g[k][q] *
                std::legendre(l, u[j][0] * u[k][0] + u[j][1] * u[k][1] + u[j][2] * u[k][2]);
  return all;
}

/// D of all atoms of a type as the kernels make it.
template <class Real> Vec descriptors(const ModelData &data, const Cluster &atoms, int type)
{
  PowerSpectrum<Real> descriptor(data);
  const auto parameters = in_kernels<double>(data.parameters);
  descriptor.prepare(parameters.data());
  const Domain domain = atoms.domain();
  FrameSet frames;
  frames.set(&domain, 1, std::vector<char>(data.config.ntypes(), 0), false,
             kernels::separate_memory() ? data.config.rcut : 0.0);
  EdgeFinder finder(data.config.ntypes(), descriptor.edge_limits());
  const auto state = descriptor.make_state();
  EdgeChunk<Real> edges;
  state->type = type;
  state->edges = &edges;
  const int n = static_cast<int>(frames.centers(type).size());
  auto d = zeros<Real>(static_cast<std::size_t>(n) * data.config.descriptor->size());
  do {
    finder.begin_sweep();
    finder.find(frames, type, 0, n, edges);
  } while (!finder.end_sweep(frames));
  descriptor.value(*state, d.data());
  return to_host(d);
}

template <class Real> class PowerSpectrumTest : public testing::Test {
};
TYPED_TEST_SUITE(PowerSpectrumTest, Precisions, PrecisionName);

// Few and many neighbors, of one to three types, some of them without any.
TYPED_TEST(PowerSpectrumTest, IsASumOverPairsOfNeighbors)
{
  for (const int ntypes : {1, 2, 3})
    for (int l_max = 0; l_max <= 6; ++l_max) {
      PowerSpectrumConfig settings = small_power_spectrum(l_max);
      settings.n_max = l_max == 3 ? 16 : 5 + l_max;
      settings.n_basis = 4 + l_max;
      if (ntypes == 3) settings.exclude_types = {{0, 1}};
      const ModelData data = power_spectrum_model(ntypes, settings, RCUT);
      const Cluster atoms(l_max == 3 ? 150 : 12, ntypes, l_max == 3 ? 6.5 : 4.0, 0.5);
      for (int type = 0; type < ntypes; ++type) {
        const Vec found = descriptors<TypeParam>(data, atoms, type);
        Vec expected;
        for (std::size_t i = 0; i < atoms.type.size(); ++i)
          if (atoms.type[i] == type) {
            const Vec one = by_pairs(data, atoms, static_cast<int>(i));
            expected.insert(expected.end(), one.begin(), one.end());
          }
        expect_close(found, expected, rounding<TypeParam>);
      }
    }
}

// Forces, virials and the parameter gradient against differences, in chunks, with strains, exclusions and vacuum energies.
TEST(PowerSpectrumModel, ForcesAndVirialAreDerivativesOfTheEnergy)
{
  for (const int l_max : {0, 2, 3, 6}) {
    DeepPot model(power_spectrum_model(2, small_power_spectrum(l_max), RCUT));
    model.set_chunk(7);
    expect_energy_derivatives(model, Cluster(20, 2, 4.5), 1e-7, 1e-6);
  }
}

TEST(PowerSpectrumModel, ParameterGradientIsTheDerivative)
{
  PowerSpectrumConfig settings = small_power_spectrum();
  settings.exclude_types = {{0, 0}};
  ModelData data = power_spectrum_model(2, settings, RCUT);
  data.config.atom_ener = {-0.4, std::nullopt};
  DeepPot model(data);
  model.set_chunk(7);
  const Cluster atoms(20, 2, 4.5);
  const Domain domain = atoms.domain();
  const SeededSum sum(domain);
  const GradientSeed *seed = &sum.seed();
  const Vec found = expect_parameter_gradient(model, domain, sum, 1e-8);
  // what pass A has kept changes nothing, and single precision little
  model.engine().set_keep_limit(0);
  expect_same_sums(gradient_of(model, &domain, 1, seed), found);
  model.set_precision(Precision::single);
  expect_close(gradient_of(model, &domain, 1, seed), found, 1e-4);
}

}  // namespace
}  // namespace dptrain::test
