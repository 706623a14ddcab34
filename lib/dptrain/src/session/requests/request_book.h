#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/labels/label_source.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/session/trajectory.h"
#include "session/requests/answered_request.h"
#include "session/requests/label_check.h"
#include "session/requests/request_file.h"
#include "session/session_counters.h"

namespace dptrain {

/// Asks the source of labels and judges its answers. A request is awaited, or left with the source while the run goes on.
/// Where other programs compute, requests are on the disk (FILE.requests) until they are settled, such that a later run can
/// take them up. Collective.
class RequestBook {
 public:
  RequestBook(std::shared_ptr<const Communicator> comm, LabelSource &source,
              const LearningOptions &options, const Messages &messages, ReferenceCounts &counts,
              const TrainingCounts &training, const std::vector<std::string> &elements,
              RunOfGroup run);

  /// Puts the present configuration into a request, and what the model says of it where there is a reason to ask.
  void describe(Trajectory &run, LabelRequest &request) const;
  /// From here on requests are about configurations that the run is not in, and it can go on without their labels; until it is called with
  /// false.
  void go_elsewhere(bool on)
  {
    is_elsewhere_ = on;
    source_.go_elsewhere(on);
  }
  /// Hands over the configuration of a request.
  void submit(LabelRequest &request);
  /// The same, and the run goes on without the answer.
  void leave(LabelRequest &request);
  /// Waits for the answer to a request. Nothing where there is no usable label: one that is not finite, or a failure, which is
  /// told. Throws Error where the run cannot go on without it.
  std::optional<Label> await(const LabelRequest &request);
  /// Whether the label that has come contradicts others, and is not to be learned; this was told.
  bool is_doubted(std::int64_t request) const { return doubted_.count(request) > 0; }
  /// Whether a label is small enough to be learned from; tells if it is not.
  bool within_limit(const LabelRequest &request, const Label &label);
  /// The answer has been dealt with; a label that is wanted is on the disk.
  void settle(std::int64_t request);

  /// Whether requests need not be answered before the program ends.
  bool outlives_program() const { return source_.outlives_program(); }
  std::int64_t num_left() const;
  bool any_left(const std::function<bool(const LabelRequest &)> &is_so) const;
  bool is_left(std::int64_t request) const;
  /// Usable answers that have come to requests that were left, in the order of the requests, which are to be settled.
  /// Failures are told.
  std::vector<AnsweredRequest> collect();
  /// Sleeps until there may be an answer, at most as long as while_waiting() says, and does what it says.
  void wait();
  /// Requests since the last call of this function.
  std::int64_t take_new_calls() { return std::exchange(new_calls_, 0); }
  /// What is done while a run waits, at least every so many seconds; nothing else is called meanwhile.
  void while_waiting(std::function<void()> work, double seconds)
  {
    meanwhile_ = std::move(work);
    one_wait_ = seconds;
  }

  /// A new training: requests of an earlier one are kept aside.
  void begin() const { file_.put_aside(messages_.info); }
  /// Goes on with what was with the reference when a program ended whose frames are in the file `source`, unless the
  /// label is among those in `frames`. Each run of a group takes a part.
  void resume(const std::string &source, const std::string &frames);
  /// Goes on with the requests of another book with the same source, types changed to types[type], for another model.
  void take_over(const RequestBook &before, const std::vector<int> &types);

 private:
  struct Open {
    LabelRequest request;
    bool is_left;
  };
  void poll();
  std::optional<Label> usable(const LabelRequest &request, LabelAnswer answer);
  void check(const LabelRequest &request, const Label &label);
  void discard(std::int64_t step, const std::string &why);
  bool is_recorded(const LabelRequest &request) const;
  void write_open() const;

  std::shared_ptr<const Communicator> comm_;
  LabelSource &source_;
  const LearningOptions &options_;
  Messages messages_;
  ReferenceCounts &counts_;
  const TrainingCounts &training_;
  RequestFile file_;
  std::function<void()> meanwhile_ = [] {};
  double one_wait_ = 3600.0;           // seconds
  std::map<std::int64_t, Open> open_;  // the content of the file
  std::int64_t new_calls_ = 0;
  bool is_elsewhere_ = false;
  std::vector<std::string> elements_;
  LabelCheck check_;
  std::set<std::int64_t> doubted_;               // requests
  std::string discarded_;                        // the latest warning of a label that is
  std::map<std::int64_t, LabelAnswer> arrived_;  // answers that nobody has taken yet
};

}  // namespace dptrain
