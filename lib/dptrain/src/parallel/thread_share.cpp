// What part of its node a rank may use: its number there, and how many threads it may have.
#include "parallel/thread_share.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/asked_threads.h"
#include "dptrain/parallel/communicator.h"
#include "parallel/node_view.h"

namespace dptrain {
namespace {

constexpr int max_cores = 1024;  // of a node; also what sched_getaffinity can tell

// 1 for each core on which this process may run.
std::vector<int> own_cores()
{
  std::vector<int> own(max_cores, 0);
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int k = 0; k < std::min(max_cores, CPU_SETSIZE); ++k) own[k] = CPU_ISSET(k, &set) ? 1 : 0;
    return own;
  }
#endif
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  std::fill_n(own.begin(), std::clamp(all, 1, max_cores), 1);
  return own;
}

}  // namespace

int share_of_cores(const std::vector<int> &own, const std::vector<int> &users)
{
  double share = 0.0;
  for (std::size_t k = 0; k < own.size(); ++k)
    if (own[k]) share += 1.0 / std::max(1, users[k]);
  return std::max(1, static_cast<int>(share + 1e-6));
}

double cpu_quota(const std::string &text)
{
  std::istringstream line(text);
  double time = 0.0, period = 0.0;
  return line >> time >> period && time > 0.0 && period > 0.0 ? time / period : HUGE_VAL;
}

int thread_share(const void *mpi_comm, int groups)
{
  const std::vector<int> own = own_cores();
  const NodeView node = look_at_node(mpi_comm, own, {});
  std::vector<int> users = node.sums;
  for (int &number : users) number *= groups;
  const int asked = asked_threads(std::getenv("OMP_NUM_THREADS"));
  if (asked > 0) return asked;
  // a container may have many cores and little of their time
  std::string quota;
  std::getline(std::ifstream("/sys/fs/cgroup/cpu.max"), quota);
  const double limit = std::max(1.0, cpu_quota(quota) / (node.size * groups));
  return static_cast<int>(std::min<double>(share_of_cores(own, users), limit));
}

int rank_on_node(const void *mpi_comm)
{
  // the launcher counts all ranks of the node, also those of other partitions
  int launcher_rank = -1;
  for (const char *name : {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK",
                           "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
    const char *text = std::getenv(name);
    if (text && launcher_rank < 0) std::istringstream(text) >> launcher_rank;
  }
  if (!mpi_comm) return std::max(launcher_rank, 0);
  // unless all have it from the shell that started them
  const NodeView node = look_at_node(mpi_comm, {}, {launcher_rank, -launcher_rank});
  const bool same = node.maxima[0] == -node.maxima[1];
  return launcher_rank < 0 || (same && node.size > 1) ? node.rank : launcher_rank;
}

}  // namespace dptrain
