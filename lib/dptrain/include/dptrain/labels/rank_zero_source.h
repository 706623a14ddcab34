#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "dptrain/labels/label_source.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Where one rank alone gets labels from: what a LabelSource is to all of them.
class LocalSource {
 public:
  virtual ~LocalSource() = default;
  /// Takes over a frame and returns the number of the request: 1, 2, ... in order. Does not wait.
  virtual std::int64_t submit(const WholeFrame &frame) = 0;
  /// The answers that have come; sleeps until there is one, at most so many seconds (0: does not wait).
  virtual std::vector<LabelAnswer> poll(double seconds) = 0;
  /// Forgets a request: no answer to it will come.
  virtual void cancel(std::int64_t request) = 0;
};

/// Labels that rank 0 gets for all ranks. While a run has nothing to do but wait, all ranks sleep, so that others get their
/// cores. Virials are symmetric, whatever an answer has rounded.
class RankZeroSource : public LabelSource {
 public:
  bool works_beside() const override { return true; }
  std::int64_t submit(const WholeFrame &frame) override;
  std::vector<LabelAnswer> poll() override;
  void wait(double seconds) override;
  void cancel(std::int64_t request) override;
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(open_.size()); }

 protected:
  /// `make` is called on rank 0; what it throws is thrown on all ranks. `longest_sleep`: seconds that ranks may sleep before
  /// they hear of an answer.
  RankZeroSource(std::shared_ptr<const Communicator> comm,
                 const std::function<std::unique_ptr<LocalSource>()> &make, double longest_sleep);

  /// On rank 0; null elsewhere.
  LocalSource *local() const { return local_.get(); }

 private:
  std::shared_ptr<const Communicator> comm_;
  std::unique_ptr<LocalSource> local_;  // on rank 0
  double longest_sleep_;
  std::vector<LabelAnswer> arrived_;  // on rank 0
  std::int64_t submitted_ = 0;
  std::set<std::int64_t> open_;  // requests without an answer

  void serve(double seconds);
};

}  // namespace dptrain
