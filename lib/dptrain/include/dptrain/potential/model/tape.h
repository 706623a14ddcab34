#pragma once

#include <cstdint>

namespace dptrain {

/// What pass A leaves for pass B: the atoms as they were, and of what was computed of them as much as memory allows. It
/// depends on nothing that the caller may change in between but the neighbor rows (what Domain::neighbors points to), which
/// must live and stay as they are. Memory goes back to the model with the tape, which may outlive it.
class Tape {
 public:
  explicit Tape(std::uint64_t version) : version_(version) {}
  Tape(const Tape &) = delete;
  Tape &operator=(const Tape &) = delete;
  virtual ~Tape() = default;
  /// Of the parameters in pass A.
  std::uint64_t version() const { return version_; }

 private:
  std::uint64_t version_;
};

}  // namespace dptrain
