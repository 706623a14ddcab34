#include "base/text_words.h"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "dptrain/base/error.h"

namespace dptrain {

std::vector<std::string> words_of(const std::string &text)
{
  constexpr const char *blanks = " \t\r\n\v\f";
  std::vector<std::string> words;
  for (std::size_t position = 0;;) {
    position = text.find_first_not_of(blanks, position);
    if (position == std::string::npos) return words;
    if (text[position] == '#') {
      position = text.find('\n', position);
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\v\f#", position), text.size());
    words.push_back(text.substr(position, end - position));
    position = end;
  }
}

std::vector<std::int64_t> whole_numbers(const std::vector<std::string> &words,
                                        const std::string &path)
{
  std::vector<std::int64_t> numbers;
  numbers.reserve(words.size());
  for (const auto &word : words) {
    char *end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end != '\0' || end == word.c_str() || value != std::floor(value) || std::abs(value) > 1e9)
      throw Error(fmt::format("{}: found '{}', expected integers", path, shown(word)));
    numbers.push_back(static_cast<std::int64_t>(value));
  }
  return numbers;
}

std::string shown(const std::string &text)
{
  constexpr std::size_t most = 40;
  std::string copy = text.substr(0, most);
  for (char &c : copy)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > most ? copy + "..." : copy;
}

}  // namespace dptrain
