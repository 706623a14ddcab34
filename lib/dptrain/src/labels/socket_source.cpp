#include "dptrain/labels/socket_source.h"

#include <utility>

namespace dptrain {

constexpr double longest_socket_sleep = 10e-3;  // seconds: a client may answer in milliseconds

SocketSource::SocketSource(std::shared_ptr<const Communicator> comm,
                           const LabelServerOptions &options, const Log &log) :
    RankZeroSource(
        std::move(comm), [&] { return std::make_unique<LabelServer>(options, log); },
        longest_socket_sleep)
{
}

void SocketSource::name_types(const std::vector<std::string> &elements,
                              const std::array<bool, 3> &periodic)
{
  if (LocalSource *server = local())
    static_cast<LabelServer *>(server)->name_types(elements, periodic);
}

}  // namespace dptrain
