#pragma once

#include <type_traits>
#include <vector>

#include "dptrain/base/state.h"

namespace dptrain::test {

/// All numbers of a state, those of its groups too.
inline std::vector<double> numbers_of(const State &state)
{
  std::vector<double> numbers;
  state.for_each([&](const std::string &, const auto &value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) {
      numbers.push_back(static_cast<double>(value));
    } else if constexpr (!std::is_same_v<Value, std::string>) {
      const auto append = [&](const std::vector<double> &more) {
        numbers.insert(numbers.end(), more.begin(), more.end());
      };
      if constexpr (std::is_same_v<Value, State>)
        append(numbers_of(value));
      else
        append(value);
    }
  });
  return numbers;
}

}  // namespace dptrain::test
