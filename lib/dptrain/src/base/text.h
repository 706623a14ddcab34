#pragma once

#include <string>

namespace dptrain {

inline bool starts_with(const std::string &text, const std::string &start)
{
  return text.compare(0, start.size(), start) == 0;
}

inline bool ends_with(const std::string &text, const std::string &end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace dptrain
