#pragma once

#include <cstdio>
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
inline std::string joined(const std::vector<std::string> &words)
{
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

inline std::string joined(const std::vector<int> &numbers)
{
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

/// The text that printf would write.
template <class... Values> std::string formatted(const char *format, Values... values)
{
  const int length = std::snprintf(nullptr, 0, format, values...);
  std::string text(length + 1, '\0');
  std::snprintf(text.data(), text.size(), format, values...);
  text.pop_back();
  return text;
}

}  // namespace dptrain
