#pragma once

#include <stdexcept>
#include <string>

namespace dptrain {

/// The one exception type of the library. Its text is complete for the user: what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something that no input can bring about; `what` says which rule of the program is broken.
inline Error internal_error(const std::string &what)
{
  return Error(what + ": this is an error of the package; please report it with the input");
}

/// There is not enough memory; those who can do with less catch it.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace dptrain
