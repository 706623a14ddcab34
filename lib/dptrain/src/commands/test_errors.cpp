#include "commands/test_errors.h"

#include <cmath>
#include <cstdio>

namespace dptrain {

namespace {

/// How a quantity is printed: NAME MAE SUFFIX: number UNIT.
struct Line {
  TestError TestErrors::*error;
  const char *name, *suffix, *unit;
};

// Angstrom and the superscript three in UTF-8
constexpr const char *force_unit = "eV/\xc3\x85", *stress_unit = "eV/\xc3\x85\xc2\xb3";

/// In the order of TestQuantity.
constexpr Line lines[num_test_quantities] = {
    {&TestErrors::energy, "Energy", "", "eV"},
    {&TestErrors::energy_per_atom, "Energy", "/Natoms", "eV"},
    {&TestErrors::force, "Force ", "", force_unit},
    {&TestErrors::weighted_force, "Force weighted", "", force_unit},
    {&TestErrors::virial, "Virial", "", "eV"},
    {&TestErrors::virial_per_atom, "Virial", "/Natoms", "eV"},
    {&TestErrors::stress, "Stress", "", stress_unit},
    {&TestErrors::atomic_energy, "Atomic ener", "", "eV"}};

std::string line(const Line &quantity, const std::string &kind, double value)
{
  const std::string name = quantity.name + (" " + kind) + quantity.suffix;
  char text[80];
  std::snprintf(text, sizeof(text), "%-19s: %e %s", name.c_str(), value, quantity.unit);
  return text;
}

}  // namespace

void ErrorSum::add(double difference, double weight_of_it)
{
  absolute += std::abs(difference) * weight_of_it;
  square += difference * difference * weight_of_it;
  weight += weight_of_it;
}

void ErrorSum::add(const ErrorSum &other)
{
  absolute += other.absolute;
  square += other.square;
  weight += other.weight;
  labels += other.labels;
}

TestError ErrorSum::error() const
{
  TestError error;
  error.found = labels > 0.0;
  error.weight = weight;
  if (weight > 0.0) {
    error.mae = absolute / weight;
    error.rmse = std::sqrt(square / weight);
  }
  return error;
}

TestErrors errors_of(const ErrorSums &sums)
{
  TestErrors errors;
  for (std::size_t q = 0; q < num_test_quantities; ++q) errors.*lines[q].error = sums[q].error();
  return errors;
}

void print_errors(const TestErrors &errors, const Log &log)
{
  for (const Line &quantity : lines) {
    const TestError &error = errors.*quantity.error;
    if (!error.found) continue;
    log(line(quantity, "MAE", error.mae));
    log(line(quantity, "RMSE", error.rmse));
  }
}

}  // namespace dptrain
