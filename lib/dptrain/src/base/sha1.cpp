#include "base/sha1.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace dptrain {

namespace {

std::uint32_t rotated(std::uint32_t x, int bits)
{
  return x << bits | x >> (32 - bits);
}

void add_block(const unsigned char *block, std::array<std::uint32_t, 5> &state)
{
  std::uint32_t w[80];
  for (int t = 0; t < 16; ++t)
    w[t] = std::uint32_t(block[4 * t]) << 24 | std::uint32_t(block[4 * t + 1]) << 16 |
           std::uint32_t(block[4 * t + 2]) << 8 | block[4 * t + 3];
  for (int t = 16; t < 80; ++t) w[t] = rotated(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  auto [a, b, c, d, e] = state;
  for (int t = 0; t < 80; ++t) {
    std::uint32_t f, k;
    if (t < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999;
    } else if (t < 40) {
      f = b ^ c ^ d;
      k = 0x6ed9eba1;
    } else if (t < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdc;
    } else {
      f = b ^ c ^ d;
      k = 0xca62c1d6;
    }
    const std::uint32_t next = rotated(a, 5) + f + e + k + w[t];
    e = d;
    d = c;
    c = rotated(b, 30);
    b = a;
    a = next;
  }
  const std::uint32_t words[5] = {a, b, c, d, e};
  for (int i = 0; i < 5; ++i) state[i] += words[i];
}

}  // namespace

std::string sha1(const std::string &text)
{
  std::string padded = text + '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t(text.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  std::array<std::uint32_t, 5> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t begin = 0; begin < padded.size(); begin += 64)
    add_block(reinterpret_cast<const unsigned char *>(padded.data()) + begin, state);
  std::string digits;
  for (std::uint32_t word : state) {
    char part[9];
    std::snprintf(part, sizeof(part), "%08x", static_cast<unsigned>(word));
    digits += part;
  }
  return digits;
}

}  // namespace dptrain
