#include "base/process_memory.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

namespace dptrain {

namespace {

std::string text_of(const std::string &path)
{
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string groups = "/sys/fs/cgroup";

// The path of this process' control group (version 2); empty: the root.
std::string own_group()
{
  std::istringstream lines(text_of("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("0::", 0) == 0 && line != "0::/") return line.substr(3);
  return "";
}

// Of one group; everything where it has no limit. Memory that holds copies of files can be freed.
HostMemory allowed_by(const std::string &folder)
{
  HostMemory memory{SIZE_MAX, SIZE_MAX};
  if (!(std::istringstream(text_of(folder + "/memory.max")) >> memory.total))
    return {SIZE_MAX, SIZE_MAX};
  std::size_t used = 0;
  std::istringstream(text_of(folder + "/memory.current")) >> used;
  used -= std::min(used, bytes_of_line(text_of(folder + "/memory.stat"), "inactive_file"));
  memory.free = memory.total - std::min(memory.total, used);
  return memory;
}

}  // namespace

std::size_t bytes_of_line(const std::string &text, const std::string &key)
{
  constexpr std::size_t kib = 1024;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, unit;
    std::size_t number = 0;
    if (!(words >> name >> number) || (name != key && name != key + ":")) continue;
    return words >> unit && unit == "kB" ? number * kib : number;
  }
  return 0;
}

ProcessMemory process_memory()
{
  const std::string text = text_of("/proc/self/status");
  return {bytes_of_line(text, "VmRSS"), bytes_of_line(text, "VmHWM")};
}

HostMemory host_memory()
{
  const std::string text = text_of("/proc/meminfo");
  HostMemory memory{bytes_of_line(text, "MemTotal"), bytes_of_line(text, "MemAvailable")};
  if (memory.total == 0) memory = {SIZE_MAX, SIZE_MAX};
  // a group is bound by those above it too
  for (std::string group = own_group();; group.erase(group.rfind('/'))) {
    const HostMemory allowed = allowed_by(groups + group);
    memory.total = std::min(memory.total, allowed.total);
    memory.free = std::min(memory.free, allowed.free);
    if (group.empty()) return memory;
  }
}

void return_free_memory()
{
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace dptrain
