#pragma once

#include <functional>
#include <string>

namespace dptrain {

/// Where a line of text goes, without a line end; called on rank 0.
using Log = std::function<void(const std::string &)>;

/// Where a session says what it does: sentences, warnings (shown as such by who receives them), and lines of tables, which
/// are shown as they are.
struct Messages {
  Log info, warning, table;
};

/// For the other ranks, which say nothing.
inline Messages no_messages()
{
  const auto nothing = [](const std::string &) {};
  return {nothing, nothing, nothing};
}

}  // namespace dptrain
