// Comment lines of extended XYZ files as text: keys, values, numbers.

#include <algorithm>
#include <charconv>

#include "base/text_words.h"
#include "data/extxyz_header.h"

namespace dptrain {

namespace {

/// Closing delimiter of an opening one, 0 for other characters.
char closing(char c)
{
  switch (c) {
  case '"':
  case '\'':
    return c;
  case '{':
    return '}';
  case '[':
    return ']';
  default:
    return 0;
  }
}

/// Splits a comment line character by character.
class Splitter {
 public:
  std::vector<std::pair<std::string, std::string>> split(std::string_view line)
  {
    for (const char c : line) take(c);
    in_value_ = in_value_ && !value_.empty();
    finish();
    return std::move(pairs_);
  }

 private:
  void take(char c)
  {
    if (escaped_) {
      escaped_ = false;
      put(c);
    } else if (c == '\\')
      escaped_ = true;
    else if (depth_ > 0)
      take_delimited(c);
    else if (closing(c) != 0) {
      open_ = c;
      depth_ = 1;
      delimited_ = in_value_;
    } else if (blank(c)) {
      if (!in_value_ || !value_.empty() || delimited_) finish();  // key= value
    } else if (c == '=' && !in_value_)
      begin_value();
    else
      put(c);
  }

  /// Blanks may stand in front of the = too: then the key was taken for one without a value.
  void begin_value()
  {
    if (key_.empty() && bare_key_) {
      key_ = pairs_.back().first;
      pairs_.pop_back();
    }
    in_value_ = true;
  }

  /// Brackets within brackets of the same kind belong to the value: arrays of arrays.
  void take_delimited(char c)
  {
    if (c == closing(open_)) {
      if (--depth_ == 0) return;
    } else if (c == open_)
      ++depth_;
    put(c);
  }

  void put(char c) { (in_value_ ? value_ : key_) += c; }

  void finish()
  {
    if (!key_.empty()) {
      pairs_.emplace_back(key_, in_value_ ? value_ : "T");
      bare_key_ = !in_value_;
    }
    key_.clear();
    value_.clear();
    in_value_ = delimited_ = false;
  }

  std::vector<std::pair<std::string, std::string>> pairs_;
  std::string key_, value_;
  char open_ = 0;
  int depth_ = 0;
  bool in_value_ = false, escaped_ = false;
  bool delimited_ = false;  // the value has delimiters, so it may be empty
  bool bare_key_ = false;   // the last pair is a key without a value
};

}  // namespace

std::vector<std::pair<std::string, std::string>> split_comment(std::string_view line)
{
  return Splitter().split(line);
}

bool parse_number(std::string_view text, double &value)
{
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const char *end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc() && result.ptr == end) return true;
  // Fortran writes 1.0D+00; what is too small for a double is zero
  std::string copy(text);
  std::replace_if(
      copy.begin(), copy.end(), [](char c) { return c == 'D' || c == 'd'; }, 'E');
  const char *last = copy.data() + copy.size();
  result = std::from_chars(copy.data(), last, value);
  if (result.ptr != last || copy.empty()) return false;
  if (result.ec == std::errc()) return true;
  if (result.ec != std::errc::result_out_of_range || copy.find('-', 1) == std::string::npos)
    return false;
  value = 0.0;
  return true;
}

}  // namespace dptrain
