#include "dptrain/parallel/broadcast.h"

namespace dptrain {

std::string said_by_one(const Communicator &comm, std::string text)
{
  std::int64_t urgency = text.empty() ? 0 : comm.size() - comm.rank();
  comm.all_reduce_max(&urgency, 1);
  if (urgency == 0) return "";
  const int speaker = comm.size() - static_cast<int>(urgency);
  std::int64_t length = static_cast<std::int64_t>(text.size());
  comm.broadcast(&length, sizeof(length), speaker);
  text.resize(length);
  comm.broadcast(text.data(), text.size(), speaker);
  return text;
}

}  // namespace dptrain
