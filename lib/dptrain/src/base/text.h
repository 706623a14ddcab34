#pragma once

#include <cctype>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace dptrain {

/// The words with a blank between them.
template <class T> std::string joined(const std::vector<T> &words)
{
  std::string text;
  for (const T &word : words) text += fmt::format("{}{}", text.empty() ? "" : " ", word);
  return text;
}

/// "a, b or c", each with a `mark` before and behind it.
inline std::string alternatives(const std::vector<std::string> &words, const char *mark = "")
{
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k)
    text += fmt::format("{}{}{}{}",
                        k == 0                 ? ""
                        : k + 1 < words.size() ? ", "
                                               : " or ",
                        mark, words[k], mark);
  return text;
}

/// In small letters.
inline std::string lower(std::string text)
{
  for (char &c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace dptrain
