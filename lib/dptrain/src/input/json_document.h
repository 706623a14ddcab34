#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace dptrain {

/// Parses JSON text. Throws Error "SOURCE:LINE:COLUMN: not valid JSON: ...".
nlohmann::json parse_json(const std::string &text, const std::string &source);

/// Copy without the keys that start with `_` (comments in DeePMD-kit's input).
nlohmann::json without_comments(const nlohmann::json &value);

/// A parsed JSON text that knows where its keys are.
class JsonDocument {
 public:
  /// Throws Error as parse_json, and for a key that an object has twice and for values nested deeper than 64 levels. A text that
  /// was made from a file of another kind has no places in it.
  JsonDocument(const std::string &text, std::string source, bool has_places = true);

  const nlohmann::json &root() const { return root_; }
  const std::string &source() const { return source_; }
  /// "SOURCE:LINE:COLUMN" of the key with this path (such as model/descriptor/rcut), or of the nearest key above it that
  /// the text has; "SOURCE" if there is none.
  std::string where(std::string path) const;

 private:
  struct Place {
    std::size_t line, column;  ///< from 1
  };

  std::string source_;
  nlohmann::json root_;
  std::map<std::string, Place> places_;

  void find_places(const std::string &text);
  void add_place(const std::string &path, Place place);
};

}  // namespace dptrain
