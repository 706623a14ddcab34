#pragma once

#include <algorithm>
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

/// The place of each of `names` in a list; -1 where it is not there.
inline std::vector<int> places_in(const std::vector<std::string> &list,
                                  const std::vector<std::string> &names)
{
  std::vector<int> places;
  for (const std::string &name : names) {
    const auto found = std::find(list.begin(), list.end(), name);
    places.push_back(found == list.end() ? -1 : static_cast<int>(found - list.begin()));
  }
  return places;
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
