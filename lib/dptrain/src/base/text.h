#pragma once

#include <fmt/format.h>
#include <string>
#include <vector>

namespace dptrain {

inline bool starts_with(const std::string &text, const std::string &start)
{
  return text.compare(0, start.size(), start) == 0;
}

inline bool ends_with(const std::string &text, const std::string &end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The words with a blank between them.
template <class T> std::string joined(const std::vector<T> &words)
{
  std::string text;
  for (const T &word : words) text += fmt::format("{}{}", text.empty() ? "" : " ", word);
  return text;
}

}  // namespace dptrain
