#include "labels/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr std::size_t block = 1 << 16;

bool not_now()
{
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

[[noreturn]] void closed()
{
  throw Error("it closed the connection (see its output)");
}

[[noreturn]] void lost()
{
  if (errno == ECONNRESET || errno == EPIPE) closed();
  throw Error(fmt::format("the connection broke ({}; see its output)", std::strerror(errno)));
}

}  // namespace

void Connection::send(const void *data, std::size_t bytes)
{
  output_.append(static_cast<const char *>(data), bytes);
}

void Connection::transfer(std::size_t most)
{
  read(most);  // last words first: writing to a client that is gone fails
  write();
}

void Connection::write()
{
  std::size_t done = 0;
  while (done < output_.size()) {
    const ssize_t written =
        ::send(descriptor(), output_.data() + done, output_.size() - done, MSG_NOSIGNAL);
    if (written < 0 && !not_now()) lost();
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  output_.erase(0, done);
}

void Connection::read(std::size_t most)
{
  while (input_.size() < most) {
    const std::size_t before = input_.size(), bytes = std::min(block, most - before);
    input_.resize(before + bytes);
    const ssize_t received = ::recv(descriptor(), input_.data() + before, bytes, 0);
    input_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(received, 0)));
    if (received == 0) closed();
    if (received < 0 && !not_now()) lost();
    if (received < 0) return;
  }
}

}  // namespace dptrain
