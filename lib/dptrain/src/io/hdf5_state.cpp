#include "io/hdf5_state.h"

#include <algorithm>
#include <fmt/format.h>
#include <type_traits>

namespace dptrain {

namespace {

constexpr int deepest = 8;  // groups in groups: in a damaged file they may go round in a circle

State read(const Hdf5File &file, const std::string &group, int depth)
{
  State state;
  if (depth > deepest) state.fail(fmt::format("the group {} is too deep in others", group));
  for (const std::string &name : file.list(group)) {
    const std::string path = group + "/" + name;
    if (file.is_group(path))
      state.set(name, read(file, path, depth + 1));
    else
      std::visit([&](auto &&value) { state.set(name, std::move(value)); }, file.read_value(path));
  }
  return state;
}

}  // namespace

void write_state(Hdf5File &file, const std::string &group, const State &state)
{
  file.make_group(group);
  state.for_each([&](const std::string &name, const auto &value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, State>)
      write_state(file, group + "/" + name, value);
    else
      file.write_value(group + "/" + name, value);
  });
}

State read_state(const Hdf5File &file, const std::string &group)
{
  State state = read(file, group, 0);
  const std::string inside = group.substr(std::min(group.find_first_not_of('/'), group.size()));
  state.set_place(fmt::format("{}: {}{}", file.name(), inside, inside.empty() ? "" : "/"));
  return state;
}

}  // namespace dptrain
