#pragma once

#include <stdexcept>

namespace dptrain {

/// The one exception type of the library. Its text is complete for the user: what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is not enough memory; those who can do with less catch it.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace dptrain
