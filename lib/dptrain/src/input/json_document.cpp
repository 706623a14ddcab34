#include "input/json_document.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "dptrain/base/error.h"

namespace dptrain {

using nlohmann::json;

namespace {

constexpr std::size_t max_depth = 64;  // recursion over values stays far from the end of the stack

/// An object or a list that is open at the present place of the text.
struct Level {
  bool is_object;
  std::string path;
  std::string name{};        ///< of the present value of an object
  bool name_follows = true;  ///< the next text of an object is a name
  std::size_t index = 0;     ///< of the present value of a list

  std::string value_path() const
  {
    const std::string last = is_object ? name : std::to_string(index);
    return path.empty() ? last : path + "/" + last;
  }
};

/// Index of the quote that ends the string which begins at `begin`.
std::size_t end_of_string(const std::string &text, std::size_t begin)
{
  std::size_t i = begin + 1;
  while (text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return i;
}

/// Takes "line L, column C: " out of the parser's message and returns "L:C".
std::string take_place(std::string &what)
{
  const auto line = what.find("line "), column = what.find(", column ");
  const auto end = what.find(": ", line);
  if (line == std::string::npos || column == std::string::npos || end == std::string::npos)
    return "";
  const std::string place =
      what.substr(line + 5, column - line - 5) + ":" + what.substr(column + 9, end - column - 9);
  what.erase(0, end + 2);
  return place;
}

}  // namespace

json parse_json(const std::string &text, const std::string &source)
{
  try {
    return json::parse(text);
  } catch (const json::exception &error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
    std::string what = error.what();
    const auto end = what.find("] ");
    if (end != std::string::npos) what.erase(0, end + 2);
    const std::string place = take_place(what);
    throw Error(fmt::format("{}{}: not valid JSON: {} (correct it there or just before: JSON has "
                            "no comments and no comma after the last item)",
                            source, place.empty() ? "" : ":" + place, what));
  }
}

json without_comments(const json &value)
{
  if (value.is_array()) {
    json copy = json::array();
    for (const auto &item : value) copy.push_back(without_comments(item));
    return copy;
  }
  if (!value.is_object()) return value;
  json copy = json::object();
  for (const auto &[key, item] : value.items())
    if (key.empty() || key[0] != '_') copy[key] = without_comments(item);
  return copy;
}

JsonDocument::JsonDocument(const std::string &text, std::string source, bool has_places) :
    source_(std::move(source)), root_(parse_json(text, source_))
{
  if (has_places) find_places(text);
}

// The parser gives no places. The text is valid JSON here, so strings, brackets and commas are all there is to look at.
void JsonDocument::find_places(const std::string &text)
{
  std::vector<Level> levels;
  std::size_t line = 1, line_begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const Place place{line, i - line_begin + 1};
    if (c == '\n') {
      ++line;
      line_begin = i + 1;
    } else if (c == '"') {
      const std::size_t end = end_of_string(text, i);
      if (!levels.empty() && levels.back().is_object && levels.back().name_follows) {
        std::string &name = levels.back().name;
        name = json::parse(text.substr(i, end - i + 1)).get<std::string>();
        std::replace(name.begin(), name.end(), '/', '\1');  // not to be taken for a path
        levels.back().name_follows = false;
        add_place(levels.back().value_path(), place);
      }
      i = end;
    } else if (c == '{' || c == '[') {
      if (levels.size() == max_depth)
        throw Error(fmt::format("{}:{}:{}: values are nested deeper than {} levels; give fewer",
                                source_, line, place.column, max_depth));
      levels.push_back({c == '{', levels.empty() ? "" : levels.back().value_path()});
    } else if (c == '}' || c == ']') {
      levels.pop_back();
    } else if (c == ',') {
      levels.back().name_follows = true;
      ++levels.back().index;
    }
  }
}

void JsonDocument::add_place(const std::string &path, Place place)
{
  const auto [entry, is_new] = places_.emplace(path, place);
  if (is_new) return;
  throw Error(fmt::format("{}:{}:{}: {}: given twice, first in line {}; keep one", source_,
                          place.line, place.column, path, entry->second.line));
}

std::string JsonDocument::where(std::string path) const
{
  while (true) {
    const auto found = places_.find(path);
    if (found != places_.end())
      return fmt::format("{}:{}:{}", source_, found->second.line, found->second.column);
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return source_;
    path.erase(slash);
  }
}

}  // namespace dptrain
