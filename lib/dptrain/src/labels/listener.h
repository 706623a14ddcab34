#pragma once

#include <sys/types.h>

#include <string>

namespace dptrain {

/// A closed or open file descriptor of a socket, which closes itself.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket &&other) noexcept;
  Socket &operator=(Socket &&other) noexcept;
  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// Where clients connect: host:port, :port or unix:NAME.
class Listener {
 public:
  /// Throws Error if the address makes no sense or cannot be had.
  explicit Listener(const std::string &address);
  /// remove_file(), which exit() calls, too.
  ~Listener();
  Listener(const Listener &) = delete;
  Listener &operator=(const Listener &) = delete;

  struct Visitor {
    Socket socket;     ///< closed: nobody waits
    std::string from;  ///< such as "127.0.0.1:4711" or "process 4711"
  };
  /// The next client that waits to be let in. Throws Error where the system has no descriptor left.
  Visitor accept();
  int descriptor() const { return socket_.descriptor(); }
  const std::string &address() const { return address_; }
  /// The socket file; empty for host:port.
  const std::string &path() const { return path_; }
  /// Removes the socket file, unless another process has replaced it.
  void remove_file() const;

 private:
  std::string address_, path_;
  Socket socket_;
  dev_t device_ = 0;  // of the socket file
  ino_t inode_ = 0;

  void listen_on_file(const std::string &name);
  void listen_on_port(const std::string &host, const std::string &port);
  void add_real_port(const std::string &host);
};

}  // namespace dptrain
