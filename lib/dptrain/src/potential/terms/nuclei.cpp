#include "potential/terms/nuclei.h"

#include <cmath>

#include "dptrain/base/elements.h"

namespace dptrain {

namespace {

double charge_of(const std::string &element)
{
  const int number = atomic_number(element);
  return element_symbol(number).empty() ? 10 : number;
}

}  // namespace

Nuclei nuclei_of(const std::string &a, const std::string &b)
{
  constexpr double squared_charge = 14.3996454784;  // e^2 / (4 pi epsilon_0), eV Angstrom
  constexpr double screening_length = 0.46850, screening_power = 0.23;
  const double za = charge_of(a), zb = charge_of(b);
  return {za * zb * squared_charge,
          (std::pow(za, screening_power) + std::pow(zb, screening_power)) / screening_length};
}

}  // namespace dptrain
