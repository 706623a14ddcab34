#include "evaluation_keywords.h"

#include <utility>

#include "error.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

constexpr int FEWEST_KNOTS = 8;

constexpr std::pair<const char *, dptrain::Precision> PRECISIONS[] = {
    {"double", dptrain::Precision::float64},
    {"single", dptrain::Precision::single},
    {"mixed", dptrain::Precision::mixed}};

}  // namespace

dptrain::Precision LAMMPS_NS::read_precision(LAMMPS *lmp, const std::string &who,
                                             const std::string &value)
{
  for (const auto &[name, precision] : PRECISIONS)
    if (value == name) return precision;
  lmp->error->all(FLERR, "{}: precision {} is not available: allowed are double, single, mixed",
                  who, value);
}

std::string LAMMPS_NS::name_of(dptrain::Precision precision)
{
  for (const auto &[name, entry] : PRECISIONS)
    if (entry == precision) return name;
  return "unknown";
}

int LAMMPS_NS::read_knots(LAMMPS *lmp, const std::string &who, const std::string &value)
{
  if (value == "auto") return 0;
  const int knots = utils::inumeric(FLERR, value, false, lmp);
  if (knots < FEWEST_KNOTS)
    lmp->error->all(FLERR, "{}: knots {} is not possible: allowed are auto and numbers from {}",
                    who, value, FEWEST_KNOTS);
  return knots;
}
