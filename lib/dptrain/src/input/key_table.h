#pragma once

#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/advice.h"
#include "dptrain/base/range.h"
#include "input/json_reader.h"

namespace dptrain {

// Tables of the keys of input.json. A section is a list of keys with their names, members, ranges and conditions: from it
// the section is read, written out again, compared with that of another model, and checked against the manual.

/// A text that is one of these.
using Choice = std::vector<std::string>;
/// A text that is not empty; what it is.
struct Filled {
  const char *what;
};
/// Kinds with their names in the file; what they are kinds of.
template <class T> struct Kinds {
  const char *what;
  std::vector<std::pair<std::string, T>> kinds;
  const char *hint = "";  ///< said of the last one where another is refused

  std::string name(T kind) const
  {
    for (const auto &[known, value] : kinds)
      if (value == kind) return known;
    throw internal_error(fmt::format("a {} without a name", what));
  }
};
/// Nothing but the type of the member.
struct Plain {};

[[noreturn]] void refuse_kind(const JsonReader &reader, const std::string &key, const char *what,
                              const std::string &found, const std::vector<std::string> &known,
                              const char *hint = "");
double read_number(JsonReader &reader, const std::string &key, const Range &range);
std::int64_t read_integer(JsonReader &reader, const std::string &key, const Range &range,
                          std::int64_t least, std::int64_t most);

// The value of a key that there is. Throws Error with what was found and what is allowed.
template <class T> struct As {
};
std::string read_value(As<std::string>, JsonReader &reader, const std::string &key, Filled text);
std::string read_value(As<std::string>, JsonReader &reader, const std::string &key,
                       const Choice &choice);
template <class T> T read_value(As<T>, JsonReader &reader, const std::string &key, Plain)
{
  if constexpr (std::is_same_v<T, bool>)
    return reader.boolean(key, false);
  else if constexpr (std::is_same_v<T, std::string>)
    return reader.text(key, "");
  else if constexpr (std::is_same_v<T, std::vector<int>>)
    return reader.integers(key, {});
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return reader.numbers(key);
  else
    return reader.texts(key);
}
template <class T>
std::enable_if_t<std::is_arithmetic_v<T>, T> read_value(As<T>, JsonReader &reader,
                                                        const std::string &key, const Range &range)
{
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>)
    return read_number(reader, key, range);
  else
    return static_cast<T>(read_integer(reader, key, range,
                                       std::is_signed_v<T> ? std::int64_t(Limits::min()) : 0,
                                       sizeof(T) < 8 ? std::int64_t(Limits::max()) : INT64_MAX));
}
template <class T>
T read_value(As<T>, JsonReader &reader, const std::string &key, const Kinds<T> &kinds)
{
  const std::string found = reader.text(key, "");
  std::vector<std::string> known;
  for (const auto &[name, kind] : kinds.kinds) {
    if (found == name) return kind;
    known.push_back(name);
  }
  refuse_kind(reader, key, kinds.what, found, known, kinds.hint);
}
/// A reader of its own.
template <class T>
T read_value(As<T>, JsonReader &reader, const std::string &key,
             T (*read)(JsonReader &, const std::string &))
{
  return read(reader, key);
}
template <class T, class Form>
std::optional<T> read_value(As<std::optional<T>>, JsonReader &reader, const std::string &key,
                            const Form &form)
{
  return read_value(As<T>(), reader, key, form);
}

/// JSON with the order of its keys.
using OrderedJson = nlohmann::ordered_json;

template <class T, class Form> OrderedJson written_value(const T &value, const Form &)
{
  return value;
}
template <class T> OrderedJson written_value(const T &value, const Kinds<T> &kinds)
{
  return kinds.name(value);
}
template <class T, class Form>
OrderedJson written_value(const std::optional<T> &value, const Form &form)
{
  return value ? written_value(*value, form) : OrderedJson();
}

/// What the manual says of a key, beside its meaning.
struct KeyRow {
  std::vector<std::string> names;  ///< the first one is written
  nlohmann::json value;            ///< by default; null: none
};

/// A key of a section whose settings are an S.
template <class S> class Key {
 public:
  using Read = std::function<void(JsonReader &, const std::string &, S &)>;
  using Write = std::function<OrderedJson(const S &)>;

  /// A member of S, or of a class between it and its objects.
  template <class Owner, class T, class Form = Plain>
  Key(std::string name, T Owner::*member, Form form = {}) :
      Key(
          std::move(name), [member](S &s) -> T & { return static_cast<Owner &>(s).*member; }, form)
  {
  }
  /// What access(S &) refers to.
  template <class Access, class Form, class T = std::decay_t<std::invoke_result_t<Access, S &>>,
            class = std::enable_if_t<!std::is_member_pointer_v<Access>>>
  Key(std::string name, Access access, Form form) :
      Key(std::move(name), Read([=](JsonReader &reader, const std::string &key, S &s) {
            access(s) = read_value(As<T>(), reader, key, form);
          }),
          Write([=](const S &s) { return written_value(access(const_cast<S &>(s)), form); }))
  {
  }
  /// Of more than one member. Null is not written.
  Key(std::string name, Read read, Write write) :
      names_{std::move(name)}, read_(std::move(read)), write_(std::move(write))
  {
  }

  /// Other names.
  Key or_named(const std::vector<std::string> &names)
  {
    names_.insert(names_.end(), names.begin(), names.end());
    return *this;
  }
  /// Written only where it is not the default.
  Key if_changed()
  {
    write_ = [write = write_](const S &s) {
      OrderedJson value = write(s);
      return value == write(S()) ? OrderedJson() : value;
    };
    return *this;
  }
  /// Of some settings only; `others` is said of it beside others.
  Key only(const std::function<bool(const S &)> &applies, const std::string &others)
  {
    applies_ = applies;
    others_ = others;
    return *this;
  }

  const std::vector<std::string> &names() const { return names_; }
  void read(JsonReader &reader, const std::string &name, S &s) const { read_(reader, name, s); }
  void read(JsonReader &reader, S &s) const
  {
    const std::string used = reader.either(names_.front(), {names_.begin() + 1, names_.end()});
    if (reader.has(used)) read_(reader, used, s);
  }
  void check(JsonReader &reader, const S &s) const
  {
    if (applies_ && !applies_(s) && reader.has(names_.front()))
      reader.fail(names_.front(), others_);
  }
  OrderedJson write(const S &s) const
  {
    return applies_ && !applies_(s) ? OrderedJson() : write_(s);
  }
  KeyRow row(const S &defaults) const
  {
    return {names_, nlohmann::json::parse(write_(defaults).dump())};
  }

 private:
  std::vector<std::string> names_;
  Read read_;
  Write write_;
  std::function<bool(const S &)> applies_;
  std::string others_;
};

/// The keys of a section, or of a part of one, in the order in which they are read and written.
template <class S> class Keys {
 public:
  Keys(std::initializer_list<Key<S>> keys) : keys_(keys) {}
  void add(const Key<S> &key) { keys_.push_back(key); }

  /// Reads what there is; what is absent stays.
  void read_values(JsonReader &reader, S &s) const
  {
    for (const Key<S> &key : keys_) key.read(reader, s);
  }
  /// Refuses keys of other settings.
  void check(JsonReader &reader, const S &s) const
  {
    for (const Key<S> &key : keys_) key.check(reader, s);
  }
  void read(JsonReader &reader, S &s) const
  {
    read_values(reader, s);
    check(reader, s);
  }
  /// Reads the key `name` where the section calls it `here`.
  void read_one(JsonReader &reader, S &s, const std::string &name, const std::string &here) const
  {
    for (const Key<S> &key : keys_)
      if (key.names().front() == name && reader.has(here)) key.read(reader, here, s);
  }
  void write(const S &s, OrderedJson &section) const
  {
    for (const Key<S> &key : keys_) {
      OrderedJson value = key.write(s);
      if (!value.is_null()) section[key.names().front()] = std::move(value);
    }
  }
  const std::vector<Key<S>> &all() const { return keys_; }
  /// All names of a key.
  const std::vector<std::string> &names_of(const std::string &name) const
  {
    for (const Key<S> &key : keys_)
      if (key.names().front() == name) return key.names();
    throw internal_error(fmt::format("no key {}", name));
  }

 private:
  std::vector<Key<S>> keys_;
};

/// A key whose text must be the first of `known` or another name of that.
template <class S>
Key<S> fixed_key(const char *what, const std::vector<std::string> &known,
                 const std::string &name = "type")
{
  const auto read = [=](JsonReader &reader, const std::string &key, S &) {
    const std::string found = reader.text(key, "");
    for (const std::string &one : known)
      if (found == one) return;
    refuse_kind(reader, key, what, found, {known.front()});
  };
  return Key<S>(name, typename Key<S>::Read(read), [known](const S &) { return known.front(); });
}

/// A key of DeePMD-kit for what is not here.
struct ForeignKey {
  const char *name;
  nlohmann::json neutral;  ///< the value, beside null, that asks for nothing
  std::string
      feature{};  ///< what another value asks for, which is refused; empty: another value is ignored
};

/// Refuses values that ask for what this version does not have; notes the paths of those that are ignored.
void read_foreign(JsonReader &reader, const std::vector<ForeignKey> &keys,
                  std::vector<std::string> &ignored);

}  // namespace dptrain
