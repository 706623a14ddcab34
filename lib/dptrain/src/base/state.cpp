#include "dptrain/base/state.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"

namespace dptrain {

void State::fail(const std::string &reason) const
{
  const std::string place = place_.empty() ? "" : " (" + place_.substr(0, place_.size() - 1) + ")";
  throw Error(fmt::format("The state in the checkpoint{} is damaged: {}{}", place, reason,
                          checkpoint_advice()));
}

void State::move_to(const std::string &place)
{
  place_ = place + "/";
  for (Entry &entry : entries_)
    if (State *state = std::get_if<State>(&entry.value)) state->move_to(place_ + entry.name);
}

void State::set(const std::string &name, Value value)
{
  if (State *group = std::get_if<State>(&value)) group->move_to(place_ + name);
  const auto place =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const Entry &entry, const std::string &n) { return entry.name < n; });
  if (place != entries_.end() && place->name == name)
    place->value = std::move(value);
  else
    entries_.insert(place, Entry{name, std::move(value)});
}

const State::Value *State::find(const std::string &name) const
{
  for (const Entry &entry : entries_)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

bool State::has(const std::string &name) const
{
  return find(name) != nullptr;
}

template <class T> const T &State::get(const std::string &name, const char *kind) const
{
  const Value *value = find(name);
  if (!value)
    throw Error(fmt::format("The state in the checkpoint has no {}{}{}", place_, name,
                            checkpoint_advice()));
  const T *found = std::get_if<T>(value);
  if (!found)
    throw Error(fmt::format("The state in the checkpoint: {}{} is not {}{}", place_, name, kind,
                            checkpoint_advice()));
  return *found;
}

double State::number(const std::string &name) const
{
  return get<double>(name, "a number");
}
std::int64_t State::integer(const std::string &name) const
{
  return get<std::int64_t>(name, "an integer");
}
std::int64_t State::count(const std::string &name) const
{
  const std::int64_t value = integer(name);
  if (value < 0) fail(fmt::format("{} is {}, and must not be negative", name, value));
  return value;
}
bool State::flag(const std::string &name) const
{
  return get<bool>(name, "true or false");
}
const std::string &State::text(const std::string &name) const
{
  return get<std::string>(name, "a text");
}
const std::vector<double> &State::array(const std::string &name) const
{
  return get<std::vector<double>>(name, "an array of numbers");
}
const State &State::group(const std::string &name) const
{
  return get<State>(name, "a group");
}

bool operator==(const State &a, const State &b)
{
  return std::equal(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
                    [](const State::Entry &x, const State::Entry &y) {
                      return x.name == y.name && x.value == y.value;
                    });
}

}  // namespace dptrain
