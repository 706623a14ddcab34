#pragma once

#include <cstddef>
#include <string>

namespace dptrain {

/// Memory of this process in bytes: now, and the most that it has had. 0 where the system does not tell.
struct ProcessMemory {
  std::size_t resident = 0, peak = 0;
};
ProcessMemory process_memory();

/// Bytes of the node's memory, or of what the control groups of this process allow, where that is less: all, and what is
/// free or can be freed at once (copies of files).
struct HostMemory {
  std::size_t total = 0, free = 0;
};
HostMemory host_memory();

/// Gives memory that the process has freed back to the system, as far as the C library can.
void return_free_memory();

/// The number behind `key` in lines like "VmRSS:   1234 kB", in bytes, or "inactive_file 1234"; 0 if there is none.
std::size_t bytes_of_line(const std::string &text, const std::string &key);

}  // namespace dptrain
