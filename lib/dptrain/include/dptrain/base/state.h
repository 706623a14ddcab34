#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dptrain/base/fields.h"

namespace dptrain {

/// What files keep of a part of the program: values by name, and groups of values, which are groups of HDF5 there.
///
/// Whatever lists its fields (fields.h) is put into a group, and read from it again: numbers and texts, enums by their
/// name_of(), which is empty beyond the last one, arrays of numbers, structs and lists of structs. An optional that is empty
/// is left out. Reading throws Error with the place ("si.dp.ckpt: dptrain/state/trainer/steps") where a value is missing or of
/// another kind.
class State {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<double>, State>;

  // defined where Entry is complete: nvcc needs them for Value before
  State();
  State(const State &other);
  State(State &&other) noexcept;
  State &operator=(const State &other);
  State &operator=(State &&other) noexcept;
  ~State();

  bool empty() const { return entries_.empty(); }
  bool has(const std::string &name) const { return find(name) != nullptr; }

  /// A value of the same name is replaced.
  template <class T> void set(const std::string &name, T &&value)
  {
    using Plain = std::remove_cvref_t<T>;
    if constexpr (std::is_constructible_v<std::string, T>)
      put(name, std::string(std::forward<T>(value)));
    else if constexpr (is_value<Plain>)
      put(name, std::forward<T>(value));
    else
      set_fields(name, value);
  }
  /// The value of this name.
  template <class T> T get(const std::string &name) const
  {
    T value{};
    get_to(name, value);
    return value;
  }
  template <class T> void get_to(const std::string &name, T &value) const;
  /// The same for types of Value, without a copy.
  template <class T> const T &at(const std::string &name) const;
  /// The fields of an object, which stays as it is where one of them is missing, or where its function damage(), if it has
  /// one, says what is wrong with them.
  template <class T> void read(T &object) const;

  /// Throws Error that says that the state is damaged, names its place, and gives the reason.
  [[noreturn]] void fail(const std::string &reason) const;
  /// Where the values are, as messages put it before their names: "FILE: GROUP/".
  void set_place(const std::string &place);

  /// visit(name, value) for each value in the order of the names, with the value's own type.
  template <class Visit> void for_each(const Visit &visit) const;
  /// visit(name, group) for each group.
  template <class Visit> void for_each_group(const Visit &visit) const;
  friend bool operator==(const State &a, const State &b);

  template <class Visit> void fields(Visit &visit) { visit("place, entries", place_, entries_); }

 private:
  struct Entry;
  struct Writer;
  struct Reader;
  template <class T>
  static constexpr bool is_value = std::same_as<T, bool> || std::same_as<T, std::int64_t> ||
                                   std::same_as<T, double> || std::same_as<T, std::string> ||
                                   std::same_as<T, std::vector<double>> || std::same_as<T, State>;

  void put(const std::string &name, Value value);
  template <class T> void set_fields(const std::string &name, const T &value);
  const Value *find(const std::string &name) const;
  /// Throws Error where a number of an array is no integer.
  std::int64_t whole(const std::string &name, double number) const;
  template <class T, class Number> T narrow(const std::string &name, Number number) const;
  static std::string name_in_list(std::size_t k);

  std::string place_;           // in the whole: empty, or ends with a slash
  std::vector<Entry> entries_;  // sorted by name
};

struct State::Entry {
  std::string name;
  Value value;
  template <class Visit> void fields(Visit &visit) { visit("name, value", name, value); }
};

inline State::State() = default;
inline State::State(const State &other) = default;
inline State::State(State &&other) noexcept = default;
inline State &State::operator=(const State &other) = default;
inline State &State::operator=(State &&other) noexcept = default;
inline State::~State() = default;

/// The fields of an object.
template <class T> State state_of(const T &object)
{
  State whole;
  whole.set("object", object);
  State state = whole.at<State>("object");
  state.set_place("");
  return state;
}

struct State::Writer {
  State &state;
  template <class... T> void operator()(const char *names, T &...values)
  {
    (state.set(next_name(names), std::as_const(values)), ...);
  }
  template <class... T> void or_default(const char *names, T &...values)
  {
    (*this)(names, values...);
  }
};

struct State::Reader {
  const State &state;
  template <class... T> void operator()(const char *names, T &...values)
  {
    (state.get_to(next_name(names), values), ...);
  }
  template <class... T> void or_default(const char *names, T &...values)
  {
    const auto one = [this](const std::string &name, auto &value) {
      if (state.has(name)) state.get_to(name, value);
    };
    (one(next_name(names), values), ...);
  }
};

namespace detail {

template <class T> concept NumberArray = std::is_arithmetic_v<typename T::value_type>;
template <class T> concept List = requires(T list)
{
  list.emplace_back();
};
template <class T> constexpr bool is_optional = false;
template <class T> constexpr bool is_optional<std::optional<T>> = true;

}  // namespace detail

template <class T> void State::set_fields(const std::string &name, const T &value)
{
  if constexpr (detail::is_optional<T>) {
    if (value) set(name, *value);
  } else if constexpr (std::is_enum_v<T>) {
    put(name, name_of(value));
  } else if constexpr (std::is_integral_v<T>) {
    put(name, static_cast<std::int64_t>(value));
  } else if constexpr (detail::NumberArray<T>) {
    put(name, std::vector<double>(value.begin(), value.end()));
  } else {
    State group;
    if constexpr (detail::List<T>) {
      for (std::size_t k = 0; k < value.size(); ++k) group.set(name_in_list(k), value[k]);
    } else {
      Writer writer{group};
      visit_fields(writer, const_cast<T &>(value));  // which only reads it
    }
    put(name, std::move(group));
  }
}

template <class T, class Number> T State::narrow(const std::string &name, Number number) const
{
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number);
  } else {
    std::int64_t integer = 0;
    if constexpr (std::is_floating_point_v<Number>)
      integer = whole(name, number);
    else
      integer = number;
    if (!std::in_range<T>(integer)) fail(name + " is out of its range");
    return static_cast<T>(integer);
  }
}

template <class T> void State::get_to(const std::string &name, T &value) const
{
  if constexpr (is_value<T>) {
    value = at<T>(name);
  } else if constexpr (detail::is_optional<T>) {
    value.reset();
    if (has(name)) get_to(name, value.emplace());
  } else if constexpr (std::is_enum_v<T>) {
    const std::string &text = at<std::string>(name);
    int k = 0;
    while (!name_of(static_cast<T>(k)).empty() && name_of(static_cast<T>(k)) != text) ++k;
    value = static_cast<T>(k);
    if (name_of(value).empty()) fail(name + " is '" + text + "', which is not known");
  } else if constexpr (std::is_integral_v<T>) {
    value = narrow<T>(name, at<std::int64_t>(name));
  } else if constexpr (detail::NumberArray<T>) {
    const auto &numbers = at<std::vector<double>>(name);
    if constexpr (detail::List<T>) value.resize(numbers.size());
    if (value.size() != numbers.size()) fail(name + " has another length than needed");
    for (std::size_t k = 0; k < numbers.size(); ++k)
      value[k] = narrow<typename T::value_type>(name, numbers[k]);
  } else if constexpr (detail::List<T>) {
    value.clear();
    at<State>(name).for_each_group(
        [&](const std::string &, const State &one) { one.read(value.emplace_back()); });
  } else {
    at<State>(name).read(value);
  }
}

template <class T> void State::read(T &object) const
{
  T found = object;
  Reader reader{*this};
  visit_fields(reader, found);
  if constexpr (requires { found.damage(); })
    if (const std::string damage = found.damage(); !damage.empty()) fail(damage);
  object = std::move(found);
}

template <class Visit> void State::for_each(const Visit &visit) const
{
  for (const Entry &entry : entries_)
    std::visit([&](const auto &value) { visit(entry.name, value); }, entry.value);
}

template <class Visit> void State::for_each_group(const Visit &visit) const
{
  for (const Entry &entry : entries_)
    if (const State *group = std::get_if<State>(&entry.value)) visit(entry.name, *group);
}

}  // namespace dptrain
