#include "base/process_memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

namespace dptrain {

namespace {

std::string text_of(const char *path)
{
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the limit of the control group (version 2) leaves; everything without one.
std::size_t left_by_group()
{
  std::size_t limit = SIZE_MAX, used = 0;
  if (!(std::istringstream(text_of("/sys/fs/cgroup/memory.max")) >> limit)) return SIZE_MAX;
  std::istringstream(text_of("/sys/fs/cgroup/memory.current")) >> used;
  return limit > used ? limit - used : 0;
}

}  // namespace

std::size_t bytes_of_line(const std::string &text, const std::string &key)
{
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t number = 0;
    if (words >> name >> number && name == key + ":") return number * 1024;
  }
  return 0;
}

ProcessMemory process_memory()
{
  const std::string text = text_of("/proc/self/status");
  return {bytes_of_line(text, "VmRSS"), bytes_of_line(text, "VmHWM")};
}

std::size_t free_host_memory()
{
  const std::size_t free = bytes_of_line(text_of("/proc/meminfo"), "MemAvailable");
  return std::min(free == 0 ? SIZE_MAX : free, left_by_group());
}

}  // namespace dptrain
