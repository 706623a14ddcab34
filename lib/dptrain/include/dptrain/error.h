#pragma once

#include <stdexcept>

namespace dptrain {

/// The one exception type of the library. Its text is complete for the user: what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dptrain
