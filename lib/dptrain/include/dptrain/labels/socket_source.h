#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/labels/label_server.h"
#include "dptrain/labels/rank_zero_source.h"

namespace dptrain {

/// Labels from clients of the i-PI protocol (see LabelServer). Rank 0 serves them.
class SocketSource final : public RankZeroSource {
 public:
  /// Listens from now on. Throws Error on all ranks where the address makes no sense or somebody listens there.
  SocketSource(std::shared_ptr<const Communicator> comm, const LabelServerOptions &options,
               const Log &log);

  /// See LabelServer::name_types.
  void name_types(const std::vector<std::string> &elements, const std::array<bool, 3> &periodic);
};

}  // namespace dptrain
