#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dptrain {

/// What a checkpoint keeps of a part of the program: values by name, and groups of values. A part has a function `state()`
/// that gives one, and takes it back with `set_state`; files keep it as groups of HDF5.
///
/// Reading a value that is not there, or is one of another kind, throws Error with its place ("trainer/buffer/epoch").
class State {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<double>, State>;

  bool empty() const { return entries_.empty(); }
  bool has(const std::string &name) const;

  // A value of the same name is replaced.
  void set_number(const std::string &name, double value) { set(name, value); }
  void set_integer(const std::string &name, std::int64_t value) { set(name, value); }
  void set_flag(const std::string &name, bool value) { set(name, value); }
  void set_text(const std::string &name, std::string value) { set(name, std::move(value)); }
  void set_array(const std::string &name, std::vector<double> values)
  {
    set(name, std::move(values));
  }
  void set_group(const std::string &name, State group) { set(name, std::move(group)); }
  /// Any of these, for readers of files.
  void set(const std::string &name, Value value);

  double number(const std::string &name) const;
  std::int64_t integer(const std::string &name) const;
  /// Throws Error where it is negative, too.
  std::int64_t count(const std::string &name) const;
  bool flag(const std::string &name) const;
  const std::string &text(const std::string &name) const;
  const std::vector<double> &array(const std::string &name) const;
  const State &group(const std::string &name) const;

  /// Throws Error that says that the state is damaged, names its place, and gives the reason.
  [[noreturn]] void fail(const std::string &reason) const;

  /// visit(name, value) for each value in the order of the names, with the value's own type.
  template <class Visit> void for_each(const Visit &visit) const;
  /// visit(name, group) for each group.
  template <class Visit> void for_each_group(const Visit &visit) const;
  friend bool operator==(const State &a, const State &b);
  friend bool operator!=(const State &a, const State &b) { return !(a == b); }

 private:
  struct Entry;
  const Value *find(const std::string &name) const;
  template <class T> const T &get(const std::string &name, const char *kind) const;
  void move_to(const std::string &place);

  /// For ByteArchive.
  template <class Archive> friend void visit_fields(Archive &archive, State &state)
  {
    archive.fields(state.place_, state.entries_);
  }

  std::string place_;           // in the whole: empty, or ends with a slash
  std::vector<Entry> entries_;  // sorted by name
};

struct State::Entry {
  std::string name;
  Value value;
  template <class Archive> friend void visit_fields(Archive &archive, Entry &entry)
  {
    archive.fields(entry.name, entry.value);
  }
};

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
