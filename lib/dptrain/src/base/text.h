#pragma once

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

/// "a, b or c".
inline std::string alternatives(const std::vector<std::string> &words)
{
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k)
    text += (k == 0 ? "" : k + 1 < words.size() ? ", " : " or ") + words[k];
  return text;
}

}  // namespace dptrain
