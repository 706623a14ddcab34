#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace dptrain {

/// The number that a word is, with nothing behind it; none: it is none, or is not finite.
inline std::optional<double> finite_number(const std::string &word)
{
  double value = 0.0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_number = code == std::errc() && end == word.data() + word.size();
  return is_number && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace dptrain
