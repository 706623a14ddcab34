#include "labels/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr int backlog = 64;
const char unix_prefix[] = "unix:";
const char file_prefix[] = "/tmp/ipi_";  // a convention of the protocol: clients add it, too

std::string reason()
{
  return std::strerror(errno);
}

[[noreturn]] void misread(const std::string &address)
{
  throw Error(fmt::format("the address '{}' is none: use HOST:PORT, :PORT (all interfaces of this "
                          "machine) or unix:NAME, which is the socket file /tmp/ipi_NAME",
                          address));
}

[[noreturn]] void in_use(const std::string &address)
{
  throw Error(fmt::format("another program listens at {} already: end it, or use another address",
                          address));
}

sockaddr_un file_address(const std::string &path)
{
  sockaddr_un result{};
  result.sun_family = AF_UNIX;
  if (path.size() >= sizeof(result.sun_path))
    throw Error(fmt::format("the name of the socket file {} is too long: the system allows {} "
                            "characters; choose a shorter one",
                            path, sizeof(result.sun_path) - 1));
  std::copy(path.begin(), path.end(), result.sun_path);
  return result;
}

// A full queue (EAGAIN) is one of a living server.
bool is_listening(const sockaddr_un &address)
{
  const Socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto *generic = reinterpret_cast<const sockaddr *>(&address);
  return ::connect(probe.descriptor(), generic, sizeof(address)) == 0 || errno == EAGAIN;
}

bool is_socket(const std::string &path)
{
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

void set(int descriptor, int level, int option)
{
  const int on = 1;
  ::setsockopt(descriptor, level, option, &on, sizeof(on));
}

// Host and port in numbers; empty where they cannot be had.
std::pair<std::string, std::string> numbers(const sockaddr_storage &address, socklen_t length)
{
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr *>(&address), length, host, sizeof(host), port,
                sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port};
}

std::string process_of(int descriptor)
{
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return "a process";
  return fmt::format("process {}", credentials.pid);
}

// Programs end a run that has failed with exit(), and then nothing else calls the destructors.
struct OpenFiles {
  std::set<const Listener *> listeners;
  const pid_t owner = ::getpid();  // a copy of the process has copies of these
};

OpenFiles &open_files()
{
  static auto *files = [] {
    auto *made = new OpenFiles;
    std::atexit([] {
      OpenFiles &left = open_files();
      if (::getpid() != left.owner) return;
      for (const Listener *listener : left.listeners) listener->remove_file();
    });
    return made;
  }();
  return *files;
}

}  // namespace

Socket::~Socket()
{
  if (is_open()) ::close(descriptor_);
}

Socket::Socket(Socket &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket &Socket::operator=(Socket &&other) noexcept
{
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Listener::Listener(const std::string &address) : address_(address)
{
  const std::size_t prefix = std::strlen(unix_prefix);
  if (address.compare(0, prefix, unix_prefix) == 0) {
    const std::string name = address.substr(prefix);
    if (name.empty() || name.find('/') != std::string::npos) misread(address);
    listen_on_file(name);
    return;
  }
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) misread(address);
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  const bool digits = port.find_first_not_of("0123456789") == std::string::npos;
  if (port.empty() || port.size() > 5 || !digits || std::stoi(port) > 65535) misread(address);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  listen_on_port(host, port);
}

Listener::~Listener()
{
  open_files().listeners.erase(this);
  remove_file();
}

void Listener::remove_file() const
{
  struct stat info {};
  if (!path_.empty() && ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ &&
      info.st_ino == inode_)
    ::unlink(path_.c_str());
}

void Listener::listen_on_file(const std::string &name)
{
  path_ = file_prefix + name;
  const sockaddr_un address = file_address(path_);
  const auto *generic = reinterpret_cast<const sockaddr *>(&address);
  socket_ = Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int status = ::bind(socket_.descriptor(), generic, sizeof(address));
  if (status != 0 && errno == EADDRINUSE && is_socket(path_)) {
    if (is_listening(address)) in_use(address_ + " (" + path_ + ")");
    ::unlink(path_.c_str());
    status = ::bind(socket_.descriptor(), generic, sizeof(address));
  }
  if (status != 0)
    throw Error(fmt::format(
        "cannot make the socket file {}: {}; remove what has this name, or use another one", path_,
        reason()));
  struct stat info {};
  if (::lstat(path_.c_str(), &info) == 0) {
    device_ = info.st_dev;
    inode_ = info.st_ino;
    open_files().listeners.insert(this);
  }
  if (::listen(socket_.descriptor(), backlog) != 0)
    throw Error(fmt::format("cannot listen at {}: {}; use another address", path_, reason()));
}

void Listener::listen_on_port(const std::string &host, const std::string &port)
{
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;  // ASE's clients know nothing else
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const char *const name = host.empty() ? nullptr : host.c_str();
  int code = ::getaddrinfo(name, port.c_str(), &hints, &found);
  if (code != 0) {
    hints.ai_family = AF_INET6;
    code = ::getaddrinfo(name, port.c_str(), &hints, &found);
  }
  if (code != 0)
    throw Error(fmt::format("the host of the address '{}' is not known here: {}; use a name or "
                            "number of this machine, or :PORT",
                            address_, ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(found, ::freeaddrinfo);
  socket_ = Socket(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  set(socket_.descriptor(), SOL_SOCKET, SO_REUSEADDR);  // connections of a run that has just ended
  if (::bind(socket_.descriptor(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket_.descriptor(), backlog) != 0) {
    if (errno == EADDRINUSE) in_use(address_);
    throw Error(
        fmt::format("cannot listen at {}: {}; the host must be this machine, as clients see it",
                    address_, reason()));
  }
  if (std::stoi(port) == 0) add_real_port(host);
}

void Listener::add_real_port(const std::string &host)
{
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  ::getsockname(socket_.descriptor(), reinterpret_cast<sockaddr *>(&address), &length);
  address_ = host + ":" + numbers(address, length).second;
}

Listener::Visitor Listener::accept()
{
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  Visitor visitor;
  visitor.socket = Socket(::accept4(descriptor(), reinterpret_cast<sockaddr *>(&address), &length,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!visitor.socket.is_open()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      throw Error(
          fmt::format("a client cannot be let in: {}; raise the limits of the system", reason()));
    return visitor;
  }
  const int client = visitor.socket.descriptor();
  if (path_.empty()) {
    set(client, IPPROTO_TCP, TCP_NODELAY);  // headers of 12 bytes must not wait for more
    set(client, SOL_SOCKET, SO_KEEPALIVE);  // a machine that is gone says nothing
    const auto [host, port] = numbers(address, length);
    visitor.from = host + ":" + port;
  } else {
    visitor.from = process_of(client);
  }
  return visitor;
}

}  // namespace dptrain
