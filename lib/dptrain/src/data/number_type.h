#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace dptrain {

/// How the numbers of an array are stored in a file.
struct NumberType {
  enum class Kind { floating, signed_integer, unsigned_integer };
  Kind kind = Kind::floating;
  std::size_t size = 8;  ///< bytes of one number
  bool swapped = false;  ///< stored in the byte order that this machine does not have
};

/// The type that NumPy calls `name`: byte order (< > = |), kind (f i u b) and bytes, as in "<f8". Empty for all others.
std::optional<NumberType> number_type(const std::string &name);

/// Numbers of that type as double. `bytes` need not be aligned.
void decode_numbers(const NumberType &type, const char *bytes, std::size_t count, double *values);

}  // namespace dptrain
