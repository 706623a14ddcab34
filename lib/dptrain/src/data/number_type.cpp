#include "data/number_type.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace dptrain {

namespace {

constexpr bool little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/// IEEE 754 binary16: sign, 5 bits of exponent, 10 bits of fraction.
double half_to_double(std::uint16_t bits)
{
  const int exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
  double value = 0.0;
  if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else if (exponent == 31)
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/// Half precision numbers have a type of their own, so that they are not taken for integers.
struct Half {
  std::uint16_t bits;
  explicit operator double() const { return half_to_double(bits); }
};

template <typename T>
void decode(const char *bytes, std::size_t count, bool swapped, double *values)
{
  for (std::size_t i = 0; i < count; ++i) {
    char stored[sizeof(T)];
    std::memcpy(stored, bytes + i * sizeof(T), sizeof(T));
    if (swapped) std::reverse(stored, stored + sizeof(T));
    T value;
    std::memcpy(&value, stored, sizeof(T));
    values[i] = static_cast<double>(value);
  }
}

template <typename I1, typename I2, typename I4, typename I8>
void decode_integers(const NumberType &type, const char *bytes, std::size_t count, double *values)
{
  switch (type.size) {
  case 1:
    return decode<I1>(bytes, count, false, values);
  case 2:
    return decode<I2>(bytes, count, type.swapped, values);
  case 4:
    return decode<I4>(bytes, count, type.swapped, values);
  default:
    return decode<I8>(bytes, count, type.swapped, values);
  }
}

}  // namespace

std::optional<NumberType> number_type(const std::string &name)
{
  if (name.size() != 3) return std::nullopt;
  const char order = name[0], kind = name[1];
  if (std::strchr("<>=|", order) == nullptr) return std::nullopt;
  NumberType type;
  type.size = static_cast<std::size_t>(name[2] - '0');
  const bool power = type.size == 1 || type.size == 2 || type.size == 4 || type.size == 8;
  if (!power || (kind == 'f' && type.size == 1) || (kind == 'b' && type.size != 1))
    return std::nullopt;
  if (kind == 'i')
    type.kind = NumberType::Kind::signed_integer;
  else if (kind == 'u' || kind == 'b')
    type.kind = NumberType::Kind::unsigned_integer;
  else if (kind != 'f')
    return std::nullopt;
  type.swapped = type.size > 1 && (order == '>' ? little_endian : order == '<' && !little_endian);
  return type;
}

void decode_numbers(const NumberType &type, const char *bytes, std::size_t count, double *values)
{
  if (type.kind == NumberType::Kind::signed_integer)
    decode_integers<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(type, bytes, count,
                                                                           values);
  else if (type.kind == NumberType::Kind::unsigned_integer)
    decode_integers<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(type, bytes, count,
                                                                               values);
  else if (type.size == 2)
    decode<Half>(bytes, count, type.swapped, values);
  else if (type.size == 4)
    decode<float>(bytes, count, type.swapped, values);
  else
    decode<double>(bytes, count, type.swapped, values);
}

}  // namespace dptrain
