#include "session/learning/learner_in_group.h"

#include <chrono>
#include <thread>
#include <utility>

namespace dptrain {

namespace {

// A run that waits for others.
void nap()
{
  std::this_thread::sleep_for(std::chrono::duration<double>(ReplicaGroup::poll_interval));
}

}  // namespace

Outcome LearnerInGroup::judge_awaited(const LabelRequest &request, const Label &label)
{
  awaited_ = request.id;
  queue({request, label});
  while (!awaited_outcome_) {
    synchronize();
    if (!awaited_outcome_) nap();
  }
  awaited_.reset();
  return *std::exchange(awaited_outcome_, {});
}

bool LearnerInGroup::slice_is_due(bool)
{
  changed_ = false;
  return group_.meets(offer());
}

bool LearnerInGroup::learn_slice()
{
  const std::int64_t calls = book_->take_new_calls();
  training_.counters().reference.calls += group_.sum_over_runs(calls) - calls;
  judge_all(group_.exchange(std::exchange(queued_, {})));
  if (!training_.owes_steps()) return false;
  const bool all = group_.sum().awaited > 0 || options_.asynchronous == 0;
  double seconds = all ? TrainingPace::everything : pace();
  group_.everyone()->broadcast(&seconds, sizeof(seconds), 0);
  if (seconds == 0.0) return false;
  train_for(seconds);
  return true;
}

void LearnerInGroup::train_pending()
{
  waits_for_training_ = true;
  while (training_.owes_steps()) {
    synchronize();
    if (training_.owes_steps()) nap();
  }
  waits_for_training_ = false;
}

void LearnerInGroup::synchronize()
{
  if (group_.meets(offer())) changed_ = learn_slice() || changed_;
}

// The clock of the first run decides about slices.
ReplicaGroup::Offer LearnerInGroup::offer()
{
  ReplicaGroup::Offer offer;
  offer.labels = static_cast<std::int64_t>(queued_.size());
  offer.awaited = (awaited_ && !awaited_outcome_) || waits_for_training_ ? 1 : 0;
  offer.wants_training = group_.index() == 0 && training_.owes_steps() && pace() > 0.0;
  return offer;
}

// `leaves`: until none of them will go on.
void LearnerInGroup::help_others(bool leaves)
{
  for (;;) {
    take_answers();
    ReplicaGroup::Offer offer = this->offer();
    offer.finished = true;
    offer.detached = leaves;
    if (!group_.meets(offer)) {
      nap();
      continue;
    }
    learn_slice();
    if (!group_.all_finished()) continue;
    learn();
    training_.save();
    if (!leaves || group_.all_detached()) return;
  }
}

}  // namespace dptrain
