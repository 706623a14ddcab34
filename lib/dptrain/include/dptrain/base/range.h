#pragma once

#include <limits>
#include <string>

namespace dptrain {

constexpr double no_bound = std::numeric_limits<double>::infinity();

/// The numbers that a key or an option may have, and what one is called.
struct Range {
  double least = -no_bound;
  double most = no_bound;
  bool above = false, below = false;  ///< `least`, `most` itself is not allowed
  const char *noun = "number";

  bool has(double value) const;
  /// Such as "a number from 0 to below 1".
  std::string words(const std::string &noun) const;
};

constexpr Range any_number{}, positive{0.0, no_bound, true}, not_negative{0.0},
    zero_to_below_1{0.0, 1.0, false, true}, above_0_to_1{0.0, 1.0, true},
    between_0_and_1{0.0, 1.0, true, true}, at_least_1{1.0},
    positive_length{0.0, no_bound, true, false, "length in Angstrom"};

}  // namespace dptrain
