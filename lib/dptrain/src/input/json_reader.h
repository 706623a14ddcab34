#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/error.h"
#include "input/json_document.h"

namespace dptrain {

/// Typed access to one object of a JSON document. Every key asked for is remembered, so that
/// finish() finds the unknown ones. Null counts as absent. Errors name file, path of the key, what
/// was found and what is allowed. The document must outlive the reader.
class JsonReader {
 public:
  /// `path` is the place of `object` in the document, without a leading slash.
  JsonReader(const nlohmann::json &object, std::string file, std::string path = "");
  /// The top level of a document, whose errors have line and column.
  explicit JsonReader(const JsonDocument &document);

  /// The value of a key, or null if absent or JSON null.
  const nlohmann::json *find(const std::string &key);
  bool has(const std::string &key) { return find(key) != nullptr; }
  /// Another name of a key: both at once are an error; returns the one in use.
  std::string either(const std::string &key, const std::vector<std::string> &aliases);

  double number(const std::string &key, double fallback);
  /// Integers; a number such as 1e6 is accepted. Throws outside [least, most].
  std::int64_t integer(const std::string &key, std::int64_t fallback,
                       std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max());
  bool boolean(const std::string &key, bool fallback);
  std::string text(const std::string &key, const std::string &fallback);
  /// A text that is one of those allowed.
  std::string choice(const std::string &key, const std::string &fallback,
                     const std::vector<std::string> &allowed);
  std::vector<int> integers(const std::string &key, const std::vector<int> &fallback);
  std::vector<double> numbers(const std::string &key);
  std::vector<std::string> texts(const std::string &key);
  /// The keys that there are.
  std::vector<std::string> keys() const;
  /// An object; an empty one if absent.
  JsonReader section(const std::string &key);
  /// The objects of a list, which must be there. list, object: what is expected of the value, and of each of its places.
  std::vector<JsonReader> objects(const std::string &key, const std::string &list,
                                  const std::string &object);

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
  /// Throws Error "FILE:LINE:COLUMN: PATH: message"; without line and column where the text is not known.
  [[noreturn]] void fail(const std::string &key, const std::string &message) const;
  /// Throws Error "FILE:LINE:COLUMN: PATH: expected ..., found <value> (type)".
  [[noreturn]] void expected(const std::string &key, const std::string &what) const;

 private:
  JsonReader(const nlohmann::json &object, std::string file, std::string path,
             const JsonDocument *document);

  const nlohmann::json *object_;
  std::string file_, path_;
  const JsonDocument *document_;  // of which the object is a part, or null
  std::set<std::string> known_;
};

}  // namespace dptrain
