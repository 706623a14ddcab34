#include <fmt/format.h>
#include <new>
#include <string>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

void guarded(const Communicator &comm, const std::function<void()> &work)
{
  bool failed = true;
  std::string message;
  try {
    work();
    failed = false;
  } catch (const std::bad_alloc &) {
    message = fmt::format("Out of memory on rank {}{}", comm.rank(), memory_advice());
  } catch (const std::exception &error) {
    message = error.what();
  } catch (...) {
    message = internal_error(fmt::format("Unknown exception on rank {}", comm.rank())).what();
  }

  // size - rank is largest on the lowest failing rank; 0 = nobody failed
  std::int64_t urgency = failed ? comm.size() - comm.rank() : 0;
  comm.all_reduce_max(&urgency, 1);
  if (urgency == 0) return;
  const int speaker = comm.size() - static_cast<int>(urgency);
  std::int64_t length = static_cast<std::int64_t>(message.size());
  comm.broadcast(&length, sizeof(length), speaker);
  message.resize(length);
  comm.broadcast(message.data(), message.size(), speaker);
  throw Error(message);
}

}  // namespace dptrain
