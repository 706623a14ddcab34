#pragma once

#include <functional>
#include <string>

namespace dptrain {

/// Calls `write(temporary name)` beside `path`, fsyncs the result and renames it: the previous file stays intact on any failure.
void write_atomically(const std::string &path,
                      const std::function<void(const std::string &)> &write);

}  // namespace dptrain
