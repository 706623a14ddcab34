#pragma once

namespace dptrain {

/// While an object lives, SIGINT (Ctrl-C) and SIGTERM (batch systems) no longer end the process: the work asks whether one
/// came, saves what it has and ends by itself. A second signal of the same kind acts as before.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;
  /// Whether a signal came to this process since the object was made.
  bool asked() const;
};

}  // namespace dptrain
