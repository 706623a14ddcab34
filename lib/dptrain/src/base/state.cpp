#include "dptrain/base/state.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

const char *const advice =
    "; copy the file again, or go on without it (in place of a checkpoint, with the model beside "
    "it)";
constexpr double largest_integer = 9007199254740992.0;  // that a double counts to

const char *kind_of(const State::Value &value)
{
  static const char *const kinds[] = {"true or false", "an integer",          "a number",
                                      "a text",        "an array of numbers", "a group"};
  return kinds[value.index()];
}

}  // namespace

void State::fail(const std::string &reason) const
{
  const std::string place =
      place_.empty() ? "a file" : place_.substr(0, place_.find_last_not_of(" :/") + 1);
  throw Error(fmt::format("The state in {} is damaged: {}{}", place, reason, advice));
}

void State::set_place(const std::string &place)
{
  place_ = place;
  for (Entry &entry : entries_)
    if (State *state = std::get_if<State>(&entry.value))
      state->set_place(place_ + entry.name + "/");
}

void State::put(const std::string &name, Value value)
{
  if (State *group = std::get_if<State>(&value)) group->set_place(place_ + name + "/");
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

template <class T> const T &State::at(const std::string &name) const
{
  const Value *value = find(name);
  if (!value)
    throw Error(fmt::format("{}{} is missing: the file is damaged, or of a version before the "
                            "first release{}",
                            place_, name, advice));
  const T *found = std::get_if<T>(value);
  if (!found) throw Error(fmt::format("{}{} is not {}{}", place_, name, kind_of(T()), advice));
  return *found;
}

template const bool &State::at(const std::string &) const;
template const std::int64_t &State::at(const std::string &) const;
template const double &State::at(const std::string &) const;
template const std::string &State::at(const std::string &) const;
template const std::vector<double> &State::at(const std::string &) const;
template const State &State::at(const std::string &) const;

std::int64_t State::whole(const std::string &name, double number) const
{
  if (!(std::fabs(number) <= largest_integer) || number != std::trunc(number))
    fail(fmt::format("{} has {}, which is no integer", name, number));
  return static_cast<std::int64_t>(number);
}

std::string State::name_in_list(std::size_t k)
{
  return fmt::format("{:08}", k);
}

bool operator==(const State &a, const State &b)
{
  return std::equal(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
                    [](const State::Entry &x, const State::Entry &y) {
                      return x.name == y.name && x.value == y.value;
                    });
}

}  // namespace dptrain
