#include "session/learning/replica_group.h"

#include <fmt/format.h>
#include <iterator>
#include <sstream>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"

namespace dptrain {

ReplicaGroup::ReplicaGroup(std::shared_ptr<const Communicator> run, const Replicas &replicas) :
    run_(std::move(run)),
    everyone_(make_mpi_communicator(replicas.mpi_comm)),
    replicas_(replicas),
    point_(make_meeting_point(replicas.mpi_comm))
{
}

// Ranks of a run must find out at the same step: the first of them decides.
bool ReplicaGroup::meets(const Offer &offer)
{
  const bool speaks = run_->rank() == 0;
  if (!begun_) {
    MeetingPoint::Values values{};
    if (speaks)
      values = {offer.labels, offer.awaited, offer.wants_training, offer.finished, offer.detached};
    point_->begin(values);
    begun_ = true;
  }
  bool done = point_->test();
  run_->broadcast(&done, sizeof(done), 0);
  if (!done) return false;
  const auto [labels, awaited, trainings, finished, detached] = point_->finish();
  sum_ = {labels, awaited, trainings, finished, detached};
  begun_ = false;
  return labels > 0 || awaited > 0 || trainings > 0 || all_finished();
}

std::vector<AnsweredRequest> ReplicaGroup::exchange(std::vector<AnsweredRequest> own) const
{
  std::vector<AnsweredRequest> all;
  for (int run = 0; run < count(); ++run) {
    std::vector<AnsweredRequest> answers;
    if (run == replicas_.index) answers = std::move(own);
    for (AnsweredRequest &answer : answers) answer.run = run;
    broadcast(*everyone_, answers, replicas_.first_rank[run]);
    std::move(answers.begin(), answers.end(), std::back_inserter(all));
  }
  return all;
}

std::int64_t ReplicaGroup::sum_over_runs(std::int64_t value) const
{
  if (run_->rank() != 0) value = 0;
  everyone_->all_reduce_sum(&value, 1);
  return value;
}

void ReplicaGroup::require_same(const std::string &what, const std::string &text) const
{
  std::string first = text;
  broadcast(*everyone_, first, replicas_.first_rank[0]);
  guarded(*everyone_, [&] {
    if (first == text) return;
    std::istringstream wanted(first), found(text);
    std::string differences;
    for (;;) {
      std::string a, b;
      const bool more_wanted(std::getline(wanted, a)), more_found(std::getline(found, b));
      if (!more_wanted && !more_found) break;
      if (a != b) differences += fmt::format("; '{}' in partition 1, '{}' here", a, b);
    }
    throw Error(fmt::format("share: partition {} has other {} than partition 1{}: runs that train "
                            "one model together need the same",
                            replicas_.index + 1, what, differences));
  });
}

}  // namespace dptrain
