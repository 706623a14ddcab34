#include "dptrain/potential/model/error_bars.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace dptrain {

std::string ErrorBars::damage(std::size_t ntypes) const
{
  if (!is_known()) return "";
  if (scale.size() != ntypes || atoms.size() != ntypes)
    return fmt::format("bars of {} types for a model of {}", scale.size(), ntypes);
  if (!std::all_of(scale.begin(), scale.end(),
                   [](double value) { return std::isfinite(value) && value > 0.0; }))
    return "a bar is not positive and finite";
  if (!(std::isfinite(known_atom) && std::isfinite(known_frame)))
    return "what is known is not finite";
  if (!(coverage > 0.0 && coverage < 1.0)) return "the part that bars cover is not between 0 and 1";
  return "";
}

void KnownDistances::add(const std::vector<double> &distances)
{
  double squares = 0.0, atoms = 0.0;
  for (const double distance : distances) {
    if (!(distance > 0.0) || !std::isfinite(distance)) continue;
    largest_ = std::max(largest_, distance);
    squares += distance * distance;
    atoms += 1.0;
  }
  if (atoms > 0.0) largest_frame_ = std::max(largest_frame_, std::sqrt(squares / atoms));
}

// The quantile of n errors and a new one is the (n + 1) coverage-th smallest, which must be among the n.
std::int64_t frames_for(double coverage)
{
  constexpr double rounding = 1e-9;
  return static_cast<std::int64_t>(std::ceil(coverage / (1.0 - coverage) - rounding));
}

std::string text_of(const ErrorBars &bars, const std::vector<std::string> &type_map)
{
  std::string atoms;
  for (std::size_t t = 0; t < bars.atoms.size(); ++t)
    if (bars.atoms[t] > 0)
      atoms += fmt::format("{}{} {}", atoms.empty() ? "" : ", ", type_map[t], bars.atoms[t]);
  return fmt::format(
      "{:.3g} % of the force errors are below their bars, measured on {} (atoms: {})",
      100.0 * bars.coverage, bars.source, atoms);
}

}  // namespace dptrain
