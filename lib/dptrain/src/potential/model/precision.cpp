#include "dptrain/potential/model/precision.h"

#include <fmt/format.h>
#include <utility>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr std::pair<const char *, Precision> precisions[] = {
    {"double", Precision::float64}, {"single", Precision::single}, {"mixed", Precision::mixed}};

}  // namespace

std::string name_of(Precision precision)
{
  for (const auto &[name, value] : precisions)
    if (value == precision) return name;
  return "";
}

Precision precision_of(const std::string &name)
{
  for (const auto &[known, value] : precisions)
    if (known == name) return value;
  throw Error(fmt::format("precision '{}' is not known: use double, single or mixed", name));
}

}  // namespace dptrain
