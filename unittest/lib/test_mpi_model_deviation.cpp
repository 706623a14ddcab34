// Model deviation against brute force, and model_devi.out in the layout of DeePMD-kit.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "dptrain/base/error.h"
#include "dptrain/uncertainty/model_deviation.h"
#include "io/file.h"
#include "support/scratch.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

constexpr double TOLERANCE = 1e-13;  // rounding of a few sums

std::vector<double> random_numbers(std::size_t count, unsigned seed)
{
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.3, 1.0);
  std::vector<double> numbers(count);
  for (double &number : numbers) number = normal(random);
  return numbers;
}

// Standard deviation of the values and their mean, from all pairs: sigma^2 = sum_kl (x_k - x_l)^2 / (2 n^2).
std::pair<double, double> spread(const std::vector<double> &values)
{
  const double n = static_cast<double>(values.size());
  double squares = 0.0, mean = 0.0;
  for (const double a : values) {
    mean += a / n;
    for (const double b : values) squares += (a - b) * (a - b);
  }
  return {std::sqrt(squares / 2.0) / n, mean};
}

}  // namespace

TEST(ModelDeviation, OfForcesAndTheirRangeOverTheRanks)
{
  const auto comm = world();
  constexpr std::size_t MODELS = 4, NATOMS = 11;
  std::vector<std::vector<double>> all;
  for (unsigned k = 0; k < MODELS; ++k) all.push_back(random_numbers(3 * NATOMS, k));
  for (const std::optional<double> level : {std::optional<double>(), std::optional<double>(0.7)}) {
    std::vector<double> expected;
    for (std::size_t i = 0; i < NATOMS; ++i) {
      double variance = 0.0, mean = 0.0;
      for (int k = 0; k < 3; ++k) {
        const auto [sigma, average] =
            spread({all[0][3 * i + k], all[1][3 * i + k], all[2][3 * i + k], all[3][3 * i + k]});
        variance += sigma * sigma;
        mean += average * average;
      }
      expected.push_back(std::sqrt(variance) / (level ? std::sqrt(mean) + *level : 1.0));
    }
    // every rank owns its own part of the atoms, the last ranks perhaps none
    const std::size_t share = (NATOMS + 2) / 3;
    const std::size_t begin = std::min(NATOMS, share * comm->rank()),
                      end = comm->rank() + 1 == comm->size() ? NATOMS
                                                             : std::min(NATOMS, begin + share);
    std::vector<const double *> own;
    for (const auto &forces : all) own.push_back(forces.data() + 3 * begin);
    const std::vector<double> deviation = force_deviation(own, end - begin, level);
    ASSERT_EQ(deviation.size(), end - begin);
    for (std::size_t i = begin; i < end; ++i)
      EXPECT_NEAR(deviation[i - begin], expected[i], TOLERANCE);

    const DeviationRange range = range_of_atoms(*comm, deviation.data(), deviation.size());
    double sum = 0.0;
    for (const double value : expected) sum += value;
    EXPECT_NEAR(range.max, *std::max_element(expected.begin(), expected.end()), TOLERANCE);
    EXPECT_NEAR(range.min, *std::min_element(expected.begin(), expected.end()), TOLERANCE);
    EXPECT_NEAR(range.average, sum / NATOMS, TOLERANCE);
  }
}

TEST(ModelDeviation, OfNoAtomsIsZero)
{
  const DeviationRange range = range_of_atoms(*world(), nullptr, 0);
  EXPECT_EQ(range.max, 0.0);
  EXPECT_EQ(range.min, 0.0);
  EXPECT_EQ(range.average, 0.0);
}

TEST(ModelDeviation, OfVirials)
{
  std::vector<std::array<double, 9>> virials(3);
  for (unsigned k = 0; k < 3; ++k) {
    const std::vector<double> numbers = random_numbers(9, 10 + k);
    std::copy(numbers.begin(), numbers.end(), virials[k].begin());
  }
  for (const std::optional<double> level : {std::optional<double>(), std::optional<double>(0.2)}) {
    double max = 0.0, min = HUGE_VAL, squares = 0.0;
    for (int c = 0; c < 9; ++c) {
      const auto [sigma, mean] = spread({virials[0][c], virials[1][c], virials[2][c]});
      const double value = sigma / (level ? std::fabs(mean) + *level : 1.0);
      max = std::max(max, value);
      min = std::min(min, value);
      squares += value * value;
    }
    const DeviationRange range = virial_deviation(virials, level);
    EXPECT_NEAR(range.max, max, TOLERANCE);
    EXPECT_NEAR(range.min, min, TOLERANCE);
    EXPECT_NEAR(range.average, std::sqrt(squares / 9.0), TOLERANCE);
  }
}

TEST(ModelDeviation, OfEqualModelsIsZero)
{
  const std::vector<double> forces = random_numbers(6, 1);
  for (const double value : force_deviation({forces.data(), forces.data()}, 2))
    EXPECT_EQ(value, 0.0);
  EXPECT_EQ(virial_deviation({{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}).max, 0.0);
}

// Names and widths as in a file of DeePMD-kit 3.2.0; unittest/interop compares with files that it writes.
TEST(ModelDeviationFile, HasTheLayoutOfDeepmd)
{
  if (world()->rank() != 0) return;
  const Scratch scratch;
  ModelDeviationRow row;
  row.step = 20;
  row.virial = {1.5, 0.0, 0.125};
  row.force = {2e-3, 1e-300, 12345678.9};
  ModelDeviationFile(scratch / "plain", false, false).write(row);
  EXPECT_EQ(
      read_file(scratch / "plain"),
      "#       step         max_devi_v         min_devi_v         avg_devi_v         max_devi_f  "
      "       min_devi_f         avg_devi_f\n"
      "          20       1.500000e+00       0.000000e+00       1.250000e-01       2.000000e-03  "
      "    1.000000e-300       1.234568e+07\n");

  row.step = 1234567890123;
  row.atoms = {0.25, 3.0};
  {
    ModelDeviationFile file(scratch / "atomic", true, false);
    file.write(row);
    expect_in("       avg_devi_f      atm_devi_f(N)\n1234567890123       1.500000e+00",
              read_file(scratch / "atomic"));  // each row is there at once
    file.write(row);
  }
  const std::string two = read_file(scratch / "atomic");
  expect_in("       1.234568e+07       2.500000e-01       3.000000e+00\n", two);
  ModelDeviationFile(scratch / "atomic", true, true).write(row);
  const std::string three = read_file(scratch / "atomic");
  EXPECT_EQ(three.substr(0, two.size()), two);
  EXPECT_EQ(three.size() - two.size(), (two.size() - two.find('\n') - 1) / 2);
  ModelDeviationFile(scratch / "atomic", true, false).write(row);
  EXPECT_EQ(read_file(scratch / "atomic").size(), two.size() - (three.size() - two.size()));
  ModelDeviationFile(scratch / "new", true, true).write(row);
  EXPECT_EQ(read_file(scratch / "new"), read_file(scratch / "atomic"));
}

TEST(ModelDeviationFile, FailuresNameFileAndReason)
{
  if (world()->rank() != 0) return;
  const Scratch scratch;
  const std::string path = scratch / "nowhere/devi.out";
  const std::string message = message_of([&] { ModelDeviationFile(path, false, false); });
  expect_in("cannot write the model deviations '" + path + "': No such file or directory", message);
  expect_in("No space left on device",
            message_of([] { ModelDeviationFile("/dev/full", false, false); }));
}

}  // namespace dptrain::test
