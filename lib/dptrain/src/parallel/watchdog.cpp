#include "parallel/watchdog.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace dptrain {

namespace {

constexpr double default_timeout = 1800.0;  // seconds
constexpr double looks_per_timeout = 10.0, longest_interval = 1.0;
constexpr double silence = 1.5 * longest_interval;  // of a process that does not run
constexpr auto time_to_abort = std::chrono::seconds(10);
constexpr auto time_to_arrive = std::chrono::milliseconds(300);

std::atomic<double> timeout{default_timeout};

[[noreturn]] void end_process()
{
  std::this_thread::sleep_for(time_to_abort);
  std::_Exit(1);
}

double seconds_since(std::int64_t milliseconds)
{
  return 1e-3 * static_cast<double>(node_milliseconds() - milliseconds);
}

}  // namespace

void set_communication_timeout(double seconds)
{
  timeout = seconds;
}

double communication_timeout()
{
  return timeout;
}

std::string timeout_text(const std::vector<RankStatus *> &ranks, const RankStatus &own,
                         double waited, double limit)
{
  std::ostringstream text;
  text.precision(3);
  text << "ERROR: dptrain: rank " << own.rank << " has waited " << waited
       << " s for other ranks in " << name_of(static_cast<Operation>(own.operation.load()))
       << ", its operation number " << own.number << "; the timeout is " << limit << " s.";
  bool missing = false;
  for (const RankStatus *other : ranks) {
    const double silent = seconds_since(other->alive);
    if (silent > silence && silent > waited / 2.0) {
      missing = true;
      text << " Rank " << other->rank << " (process " << other->process
           << ") has given no sign of life for " << silent << " s.";
      continue;
    }
    if (other->waits && other->number >= own.number) continue;
    missing = true;
    text << " Rank " << other->rank << " (process " << other->process << ") has not come: ";
    if (other->number == 0)
      text << "it has not begun any operation.";
    else
      text << "its latest operation, number " << other->number << ", "
           << name_of(static_cast<Operation>(other->operation.load()))
           << (other->waits ? ", began " : ", ended ") << seconds_since(other->since) << " s ago.";
  }
  if (!missing) text << " All ranks of this node have come: look at the other nodes.";
  text << " The job ends now; 'resume' goes on from the checkpoint. Where ranks have good reason "
          "to wait this long, for a slow reference or disk, allow it with a longer 'timeout'\n";
  return text.str();
}

Watchdog &Watchdog::instance()
{
  // never destroyed: communicators may be among the last objects of a program; the thread ends with the last of them
  static auto *const watchdog = new Watchdog;
  return *watchdog;
}

void Watchdog::watch(std::vector<RankStatus *> ranks, RankStatus *own)
{
  const std::lock_guard lock(mutex_);
  watched_.push_back({std::move(ranks), own, -1, 0.0});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Watchdog::forget(RankStatus *own)
{
  std::thread ended;
  {
    const std::lock_guard lock(mutex_);
    watched_.erase(std::remove_if(watched_.begin(), watched_.end(),
                                  [own](const Watched &watched) { return watched.own == own; }),
                   watched_.end());
    if (watched_.empty()) ended.swap(thread_);
  }
  wake_.notify_all();
  if (ended.joinable()) ended.join();
}

void Watchdog::run()
{
  std::unique_lock lock(mutex_);
  std::int64_t before = node_milliseconds();
  while (!watched_.empty()) {
    const double limit = timeout;
    const double interval =
        limit > 0.0 ? std::min(longest_interval, limit / looks_per_timeout) : longest_interval;
    wake_.wait_for(lock, std::chrono::duration<double>(interval));
    const double passed = seconds_since(before);
    before = node_milliseconds();
    // no more than an interval: the whole job may have been suspended, then nobody has been waiting
    look(limit, std::min(passed, interval));
  }
}

// Counts only the time in which this process runs.
void Watchdog::look(double limit, double passed)
{
  for (Watched &watched : watched_) {
    watched.own->alive = node_milliseconds();
    const std::int64_t number = watched.own->number;
    const bool same = watched.own->waits && number == watched.number;
    watched.waited = same ? watched.waited + passed : 0.0;
    watched.number = number;
    if (limit <= 0.0 || watched.waited <= limit) continue;
    if (watched.ranks.front()->speaker.exchange(1) == 0)
      end_job(timeout_text(watched.ranks, *watched.own, watched.waited, limit));
    end_process();
  }
}

void end_job(const std::string &text)
{
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::this_thread::sleep_for(time_to_arrive);  // the abort would overtake the text
  // should MPI hang as well, the launcher ends all when a rank is gone
  std::thread([] { end_process(); }).detach();
  MPI_Abort(MPI_COMM_WORLD, 1);
  end_process();
}

}  // namespace dptrain
