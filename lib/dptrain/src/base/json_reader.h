#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "dptrain/error.h"

namespace dptrain {

/// Parses JSON text. `file` names the source in the error, which gives line and column.
nlohmann::json parse_json(const std::string &text, const std::string &file);

/// Copy without the keys that start with `_` (comments in DeePMD-kit's input).
nlohmann::json without_comments(const nlohmann::json &value);

/// Typed access to one object of a JSON document. Every key asked for is remembered, so that
/// finish() finds the unknown ones. Null counts as absent. Errors name file, path of the key, what
/// was found and what is allowed. The document must outlive the reader.
class JsonReader {
 public:
  /// `path` is the place of `object` in the document, without a leading slash.
  JsonReader(const nlohmann::json &object, std::string file, std::string path = "");

  /// The value of a key, or null if absent or JSON null.
  const nlohmann::json *find(const std::string &key);
  bool has(const std::string &key) { return find(key) != nullptr; }
  /// Another name of a key: both at once are an error; returns the one in use.
  std::string either(const std::string &key, const std::vector<std::string> &aliases);

  double number(const std::string &key, double fallback);
  std::optional<double> optional_number(const std::string &key);
  /// Integers; a number such as 1e6 is accepted. Throws outside [least, most].
  std::int64_t integer(const std::string &key, std::int64_t fallback,
                       std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max());
  bool boolean(const std::string &key, bool fallback);
  std::string text(const std::string &key, const std::string &fallback);
  std::vector<int> integers(const std::string &key, const std::vector<int> &fallback);
  std::vector<std::string> texts(const std::string &key);
  /// An object; an empty one if absent.
  JsonReader section(const std::string &key);

  /// Keys that are allowed and not interpreted.
  void accept(const std::vector<std::string> &keys);
  /// A key of DeePMD-kit that is allowed only with the value `neutral` (or null): otherwise the
  /// error says that this version does not have `feature`.
  void only(const std::string &key, const nlohmann::json &neutral, const std::string &feature);
  /// Throws if a key was never asked for, with the nearest known name. Keys with `_` are comments.
  void finish() const;

  /// Path of a key for messages.
  std::string path(const std::string &key) const;
  const std::string &file() const { return file_; }
  /// Throws Error "FILE: PATH: message".
  [[noreturn]] void fail(const std::string &key, const std::string &message) const;
  /// Throws Error "FILE: PATH: expected ..., found <value> (type)".
  [[noreturn]] void expected(const std::string &key, const std::string &what) const;

 private:
  const nlohmann::json *object_;
  std::string file_, path_;
  std::set<std::string> known_;
};

}  // namespace dptrain
