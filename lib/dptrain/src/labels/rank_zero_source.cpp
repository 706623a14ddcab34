#include "dptrain/labels/rank_zero_source.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "dptrain/parallel/broadcast.h"
#include "labels/label_virial.h"

namespace dptrain {

namespace {

// While ranks wait they look more and more rarely whether something has come (seconds): MPI's own way of waiting would keep
// a core of each busy.
constexpr double shortest_sleep = 20e-6, sleep_growth = 1.1;

}  // namespace

RankZeroSource::RankZeroSource(std::shared_ptr<const Communicator> comm,
                               const std::function<std::unique_ptr<LocalSource>()> &make,
                               double longest_sleep) :
    comm_(std::move(comm)), longest_sleep_(longest_sleep)
{
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) local_ = make();
  });
}

std::int64_t RankZeroSource::submit(const WholeFrame &frame)
{
  guarded(*comm_, [&] {
    if (local_) local_->submit(frame);
  });
  open_.insert(++submitted_);  // rank 0 counts them so too
  return submitted_;
}

std::vector<LabelAnswer> RankZeroSource::poll()
{
  guarded(*comm_, [&] { serve(0.0); });
  broadcast(*comm_, arrived_);
  for (const LabelAnswer &answer : arrived_) open_.erase(answer.request);
  return std::exchange(arrived_, {});
}

void RankZeroSource::wait(double seconds)
{
  using Seconds = std::chrono::duration<double>;
  bool done = false;
  double pause = shortest_sleep;
  for (double waited = 0.0; !done && waited < seconds; waited += pause) {
    pause = std::min(pause * sleep_growth, longest_sleep_);
    guarded(*comm_, [&] {
      if (!local_) return std::this_thread::sleep_for(Seconds(pause));
      serve(pause);
      done = !arrived_.empty();
    });
    comm_->broadcast(&done, sizeof(done), 0);
  }
}

// On rank 0; elsewhere nothing.
void RankZeroSource::serve(double seconds)
{
  if (!local_) return;
  std::vector<LabelAnswer> latest = local_->poll(arrived_.empty() ? seconds : 0.0);
  for (LabelAnswer &answer : latest)
    if (answer.label.virial) make_symmetric(*answer.label.virial);
  std::move(latest.begin(), latest.end(), std::back_inserter(arrived_));
}

void RankZeroSource::cancel(std::int64_t request)
{
  open_.erase(request);
  if (local_) local_->cancel(request);
  const auto is_it = [request](const LabelAnswer &answer) { return answer.request == request; };
  arrived_.erase(std::remove_if(arrived_.begin(), arrived_.end(), is_it), arrived_.end());
}

}  // namespace dptrain
