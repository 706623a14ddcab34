#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/parallel/communicator.h"
#include "dptrain/session/replicas.h"
#include "parallel/meeting_point.h"
#include "session/requests/answered_request.h"

namespace dptrain {

/// How the runs of a group synchronize to learn: a nonblocking all-reduce at each step; when all runs have contributed and any
/// has work, all of them exchange labels and train. A run that waits or has ended polls in the same way, so that no run is
/// waited for longer than it needs for one step.
class ReplicaGroup {
 public:
  /// `run`: the ranks of this run. Collective over all ranks of all runs.
  ReplicaGroup(std::shared_ptr<const Communicator> run, const Replicas &replicas);

  static constexpr double poll_interval = 0.02;  ///< seconds between two looks of a run that waits

  /// All ranks of all runs.
  const std::shared_ptr<const Communicator> &everyone() const { return everyone_; }
  int index() const { return replicas_.index; }
  int count() const { return replicas_.count(); }

  /// What a run brings.
  struct Offer {
    std::int64_t labels = 0, awaited = 0;  ///< whether the run waits until all is learned
    bool wants_training = false;           ///< it is time for a slice
    bool finished = false,
         detached = false;  ///< the run has come to its end; it will not start again
  };
  /// What all bring together.
  struct Sum {
    std::int64_t labels = 0, awaited = 0, trainings = 0, finished = 0, detached = 0;
  };
  /// To be called at each step, and while the run waits: true if all meet now. Does not wait. The same on all ranks of the run,
  /// which is collective over them.
  bool meets(const Offer &offer);
  /// What the latest meets() that was true has found.
  const Sum &sum() const { return sum_; }
  bool all_finished() const { return sum_.finished == count(); }
  bool all_detached() const { return sum_.detached == count(); }

  /// At a meeting: the answers of all runs, in the order of the runs. Collective over everyone.
  std::vector<AnsweredRequest> exchange(std::vector<AnsweredRequest> own) const;
  /// At a meeting: the sum over the runs of a number that all ranks of a run have. Collective over everyone.
  std::int64_t sum_over_runs(std::int64_t value) const;
  /// Throws Error on all ranks of all runs where a text is not that of the first run. `what` names it in the message; lines
  /// that differ are shown.
  void require_same(const std::string &what, const std::string &text) const;

 private:
  std::shared_ptr<const Communicator> run_, everyone_;
  Replicas replicas_;
  std::unique_ptr<MeetingPoint> point_;
  bool begun_ = false;
  Sum sum_;
};

}  // namespace dptrain
