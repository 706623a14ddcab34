#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "labels/listener.h"

namespace dptrain {

/// Bytes to and from a client, without blocking: what cannot be written yet waits here, and so does what was read and
/// not taken. Throws Error when the connection is lost.
class Connection {
 public:
  explicit Connection(Socket socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.descriptor(); }
  bool has_output() const { return !output_.empty(); }
  /// Appends to what is to be written.
  void send(const void *data, std::size_t bytes);
  /// Writes and reads what is possible now. At most so many bytes are kept in reading: the rest stays in the system.
  void transfer(std::size_t most);
  std::size_t available() const { return input_.size(); }
  /// The bytes read and not taken.
  const char *data() const { return input_.data(); }
  void drop(std::size_t bytes) { input_.erase(0, bytes); }

 private:
  Socket socket_;
  std::string output_, input_;

  void write();
  void read(std::size_t most);
};

}  // namespace dptrain
