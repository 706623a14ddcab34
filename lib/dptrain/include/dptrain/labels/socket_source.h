#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/labels/label_server.h"
#include "dptrain/labels/label_source.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Labels from clients of the i-PI protocol (see LabelServer). Rank 0 serves them. While a run has nothing to do but wait,
/// all ranks sleep, so that the clients get their cores.
class SocketSource final : public LabelSource {
 public:
  /// Listens from now on. Throws Error on all ranks where the address makes no sense or somebody listens there.
  SocketSource(std::shared_ptr<const Communicator> comm, const LabelServerOptions &options,
               Log log);

  /// See LabelServer::name_types.
  void name_types(const std::vector<std::string> &elements);
  std::int64_t submit(const WholeFrame &frame) override;
  std::vector<LabelAnswer> poll() override;
  void wait(double seconds) override;
  void cancel(std::int64_t request) override;
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(open_.size()); }

 private:
  std::shared_ptr<const Communicator> comm_;
  std::unique_ptr<LabelServer> server_;  // on rank 0
  std::vector<LabelAnswer> arrived_;     // on rank 0
  std::int64_t submitted_ = 0;
  std::set<std::int64_t> open_;  // requests without an answer

  void serve(double seconds);
};

}  // namespace dptrain
