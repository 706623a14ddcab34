#include "rehearsal/device_memory.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "dptrain/base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)
#define ASAN_UNPOISON_MEMORY_REGION(address, size)
#endif

namespace dptrain::rehearsal {
namespace {

constexpr std::size_t capacity = std::size_t(64) << 30;  // of addresses, not of memory
constexpr std::size_t alignment = 256;                   // as cudaMalloc
constexpr std::size_t guard = 64;                        // bytes behind a block that are nobody's
constexpr int poison = 0xFF;                             // NaN as float and as double
constexpr std::size_t quarantine = 512;                  // freed blocks whose addresses wait

std::size_t rounded(std::size_t n, std::size_t multiple)
{
  return (n + multiple - 1) / multiple * multiple;
}

std::size_t page_size()
{
  static const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// What a block takes of the range.
std::size_t place_size(std::size_t bytes)
{
  return rounded(bytes + guard, alignment);
}

struct Range {
  char *base = nullptr;
  std::size_t used = 0;                              // bytes of addresses that were ever given away
  std::map<char *, std::size_t> blocks;              // in use, with their sizes
  std::deque<std::pair<std::size_t, char *>> freed;  // the latest, with the sizes of their places
  std::multimap<std::size_t, char *> places;         // that may be used again
  std::uintptr_t heap = 0;                           // of the program, where it begins
  int open = 0;                                      // Access objects that live
  void protect(int protection) const
  {
    if (used > 0) mprotect(base, rounded(used, page_size()), protection);
  }
  // The block that holds an address, or ends there.
  std::map<char *, std::size_t>::const_iterator find(char *address) const
  {
    auto block = blocks.upper_bound(address);
    if (block == blocks.begin()) return blocks.end();
    --block;
    return address <= block->first + block->second ? block : blocks.end();
  }
  // A place that was freed long ago, or a new one.
  char *take(std::size_t size)
  {
    if (const auto place = places.find(size); place != places.end()) {
      char *block = place->second;
      places.erase(place);
      return block;
    }
    if (size > capacity - used) return nullptr;
    used += size;
    return base + used - size;
  }
  void give_back(std::size_t size, char *place)
  {
    freed.emplace_back(size, place);
    if (freed.size() <= quarantine) return;
    places.insert(freed.front());
    freed.pop_front();
  }
  bool holds(std::uintptr_t address) const
  {
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    return base && address >= begin && address < begin + capacity;
  }
};

Range range;
struct sigaction handler_before;

// Says which memory it was; then the fault takes its way, as without us.
void on_fault(int, siginfo_t *info, void *)
{
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  sigaction(SIGSEGV, &handler_before, nullptr);
  if (!range.holds(address)) return;
  char text[256];
  const auto block = range.find(static_cast<char *>(info->si_addr));
  int length;
  if (block == range.blocks.end())
    length = std::snprintf(
        text, sizeof(text),
        "rehearsal: access to %p, device memory that is freed or was never allocated\n",
        info->si_addr);
  else
    length = std::snprintf(
        text, sizeof(text),
        "rehearsal: the host reads or writes device memory: byte %zu of a block of %zu bytes\n",
        static_cast<char *>(info->si_addr) - block->first, block->second);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, static_cast<size_t>(length));
  void *frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
}

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::string name;
};

// Of this process, as the system tells them.
std::vector<Mapping> mappings()
{
  std::vector<Mapping> all;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    Mapping m;
    char dash = 0;
    std::string rights, offset, device, inode;
    words >> std::hex >> m.begin >> dash >> m.end >> rights >> offset >> device >> inode >> m.name;
    all.push_back(m);
  }
  return all;
}

void reserve_range()
{
  for (const Mapping &mapping : mappings())
    if (mapping.name == "[heap]") range.heap = mapping.begin;
  if (range.heap == 0) range.heap = reinterpret_cast<std::uintptr_t>(sbrk(0));
  void *base =
      mmap(nullptr, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    throw Error("rehearsal: no 64 GiB of addresses for the device's memory: raise 'ulimit -v'");
  range.base = static_cast<char *>(base);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &handler_before);
}

}  // namespace

void *allocate(std::size_t bytes)
{
  if (!range.base) reserve_range();
  char *block = range.take(place_size(bytes));
  if (block) range.blocks[block] = bytes;
  return block;
}

void release(void *block, std::size_t bytes)
{
  const auto found = range.blocks.find(static_cast<char *>(block));
  if (found == range.blocks.end() || found->second != bytes)
    throw Error(
        "rehearsal: a block is released that is none, or twice; correct the code that releases it");
  range.blocks.erase(found);
}

void fill(void *block, std::size_t bytes)
{
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  std::memset(block, poison, bytes);
  ASAN_POISON_MEMORY_REGION(static_cast<char *>(block) + bytes, place_size(bytes) - bytes);
}

void forget(void *block, std::size_t bytes)
{
  char *begin = static_cast<char *>(block), *end = begin + bytes;
  ASAN_POISON_MEMORY_REGION(begin, bytes);
  // whole pages go back to the system
  const auto first = rounded(reinterpret_cast<std::uintptr_t>(begin), page_size());
  const auto last = reinterpret_cast<std::uintptr_t>(end) / page_size() * page_size();
  if (last > first) madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
  range.give_back(place_size(bytes), begin);
}

Place place_of(std::uintptr_t address)
{
  if (range.holds(address))
    return range.find(reinterpret_cast<char *>(address)) == range.blocks.end() ? Place::freed
                                                                               : Place::device;
  // Libraries, stacks, and position-independent programs with their heaps lie above, the shadow memory of sanitizers below:
  // what is smaller are two integers side by side, but for the heap of other programs.
  constexpr std::uintptr_t lowest = std::uintptr_t(0x5000) << 32;
  if (address >= range.heap && address < reinterpret_cast<std::uintptr_t>(sbrk(0)))
    return Place::host;
  if (address < lowest || address >> 48 != 0) return Place::nowhere;
  unsigned char resident = 0;
  void *page = reinterpret_cast<void *>(address / page_size() * page_size());
  return mincore(page, 1, &resident) == 0 ? Place::host : Place::nowhere;
}

std::string host_memory_name(std::uintptr_t address)
{
  for (const Mapping &mapping : mappings()) {
    if (address < mapping.begin || address >= mapping.end) continue;
    if (mapping.name == "[stack]") return "the stack";
    return mapping.name.empty() || mapping.name == "[heap]" ? "the heap" : mapping.name;
  }
  return "an unknown mapping";
}

void check_block(const void *place, std::size_t bytes)
{
  char *begin = static_cast<char *>(const_cast<void *>(place));
  const auto block = range.find(begin);
  if (block == range.blocks.end() || begin + bytes > block->first + block->second)
    throw Error(fmt::format("rehearsal: a copy of {} bytes leaves the block of device memory that "
                            "it begins in; correct its size",
                            bytes));
}

Access::Access()
{
  if (range.open++ == 0) range.protect(PROT_READ | PROT_WRITE);
}

Access::~Access()
{
  if (--range.open == 0) range.protect(PROT_NONE);
}

}  // namespace dptrain::rehearsal
