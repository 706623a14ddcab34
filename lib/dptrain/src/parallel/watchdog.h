#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "parallel/rank_board.h"

namespace dptrain {

/// Ends the job where a rank waits for others longer than the time that `set_communication_timeout` allows: one rank of the
/// node says who has not come, then MPI ends all ranks. That a process has died is for the launcher to notice. A thread of
/// its own, which sleeps nearly always.
class Watchdog {
 public:
  static Watchdog &instance();
  /// Looks after this communicator from now on, until `forget`.
  void watch(std::vector<RankStatus *> ranks, RankStatus *own);
  void forget(RankStatus *own);

 private:
  struct Watched {
    std::vector<RankStatus *> ranks;
    RankStatus *own;
    std::int64_t number = -1;  // of the operation that it was in when it was looked at
    double waited = 0.0;       // seconds in it
  };
  void look(double limit, double since_last);
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Watched> watched_;
  std::thread thread_;
};

/// Writes the text and ends all ranks of the job, also where MPI does not answer any more.
[[noreturn]] void end_job(const std::string &text);

/// The text for ranks [ranks] of a node, of which `own` has waited so many seconds.
std::string timeout_text(const std::vector<RankStatus *> &ranks, const RankStatus &own,
                         double waited, double limit);

}  // namespace dptrain
