#pragma once

#include <algorithm>
#include <cctype>
#include <string>

#include "base/random.h"

namespace dptrain::test {

/// Damages files: bits and bytes changed, parts cut out, doubled or put in, numbers in text exchanged.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  std::string damage(std::string bytes)
  {
    for (auto count = 1 + pick(3); count > 0; --count) once(bytes);
    return bytes;
  }
  std::size_t pick(std::size_t n) { return random_index(engine_, n); }

 private:
  void once(std::string &bytes)
  {
    if (bytes.empty()) {
      bytes = "x";
      return;
    }
    const std::size_t at = pick(bytes.size());
    const std::size_t length = 1 + pick(std::min<std::size_t>(64, bytes.size() - at));
    switch (pick(8)) {
    case 0:
      bytes[at] ^= static_cast<char>(1 << pick(8));
      break;
    case 1:
      bytes[at] = static_cast<char>(pick(256));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(at, bytes.substr(pick(bytes.size()), length));
      break;
    case 5:
      for (std::size_t i = 0; i < length; ++i) bytes[at + i] = pick(2) ? '\xFF' : '\0';
      break;
    default:
      exchange_number(bytes, at);
    }
  }

  /// The first number in the text from `at` on, or eight bytes if there is none.
  void exchange_number(std::string &bytes, std::size_t at)
  {
    static const std::string texts[] = {"0",
                                        "-1",
                                        "1",
                                        "99999999999",
                                        "18446744073709551616",
                                        "1e999",
                                        "nan",
                                        "inf",
                                        "-0.0",
                                        "4294967297",
                                        "1e300",
                                        "2.5",
                                        "x",
                                        "",
                                        "9223372036854775807",
                                        "T",
                                        "1e-9",
                                        "\"\"\"",
                                        "16777217",
                                        "3"};
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const auto start = std::find_if(bytes.begin() + at, bytes.end(), digit);
    if (start == bytes.end()) {
      const std::uint64_t value = engine_() >> pick(64);
      bytes.replace(at, 8, reinterpret_cast<const char *>(&value), 8);
      return;
    }
    const auto end = std::find_if_not(start, bytes.end(), digit);
    bytes.replace(start, end, texts[pick(std::size(texts))]);
  }

  RandomEngine engine_;
};

}  // namespace dptrain::test
