#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain {

/// Words of a text between blanks and ends of lines; what follows a # in a line is a comment.
std::vector<std::string> words_of(const std::string &text);

/// Whole numbers from words ("3", also "3.0"). Throws Error that names `path` and the first word that is none.
std::vector<std::int64_t> whole_numbers(const std::vector<std::string> &words,
                                        const std::string &path);

/// True for characters that separate words, ends of lines among them.
inline bool blank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Text for a message: without characters that a terminal cannot show, at most 40 of them.
std::string shown(const std::string &text);

}  // namespace dptrain
