#pragma once

#include <string>

namespace dptrain {

/// Levenshtein distance.
std::size_t edit_distance(const std::string &a, const std::string &b);

/// The one of `names` that is most like `name`; empty: there are none.
template <class Names> std::string nearest_name(const std::string &name, const Names &names)
{
  std::string nearest;
  for (const std::string &known : names)
    if (nearest.empty() || edit_distance(name, known) < edit_distance(name, nearest))
      nearest = known;
  return nearest;
}

}  // namespace dptrain
