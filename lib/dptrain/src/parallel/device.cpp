#include "dptrain/parallel/device.h"

#include <fmt/format.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "dptrain/base/error.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/parallel/broadcast.h"
#include "kernels/gpus.h"

namespace dptrain {

DPTRAIN_FIELDS(RankDevice, node, local_rank, visible, index, name, id, memory, major, minor,
               gpu_numa, cpu_numa, peers)

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

std::string host_name()
{
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// The memory domain of the core on which the process is now; -1: unknown.
int numa_of_core()
{
#ifdef __linux__
  const int core = sched_getcpu();
  std::error_code none;
  for (int node = 0; core >= 0 && node < 64; ++node)
    if (std::filesystem::exists(fmt::format("/sys/devices/system/node/node{}/cpu{}", node, core),
                                none))
      return node;
#endif
  return -1;
}

std::string names_of(const std::vector<int> &ranks)
{
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (const int rank : ranks) text += fmt::format(" {}", rank);
  return text;
}

std::string gpu_text(const RankDevice &gpu)
{
  std::ostringstream text;
  text.precision(3);
  text << gpu.name << " (" << static_cast<double>(gpu.memory) / gib << " GiB, compute capability "
       << gpu.major << "." << gpu.minor << ")";
  return text.str();
}

}  // namespace

DeviceRequest read_device(const std::string &text)
{
  DeviceRequest request;
  if (text == "auto") return request;
  if (text == "cpu") {
    request.kind = DeviceRequest::Kind::cpu;
    return request;
  }
  const std::string prefix = "cuda:";
  const std::string number = text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : "";
  const bool digits =
      !number.empty() && number.size() < 6 &&
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) throw Error(fmt::format("device {} is not possible: use auto, cpu or cuda:K", text));
  request.kind = DeviceRequest::Kind::gpu;
  request.index = std::stoi(number);
  return request;
}

int choose_device(const DeviceRequest &request, int visible, int local_rank)
{
  if (request.kind != DeviceRequest::Kind::gpu) return visible > 0 ? local_rank % visible : -1;
  if (request.index < visible) return request.index;
  throw Error(fmt::format("device cuda:{}: this rank sees {} GPUs (counted from 0), which "
                          "CUDA_VISIBLE_DEVICES says: use one of them, or auto",
                          request.index, visible));
}

DeviceReport describe_devices(const std::vector<RankDevice> &ranks)
{
  DeviceReport report;
  std::map<std::string, std::vector<int>> users;  // by id of the GPU
  std::set<std::string> nodes, kinds;
  std::vector<int> far, alone;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankDevice &rank = ranks[r];
    nodes.insert(rank.node);
    if (rank.device < 0) continue;
    users[rank.id].push_back(static_cast<int>(r));
    kinds.insert(gpu_text(rank));
    if (rank.gpu_numa >= 0 && rank.cpu_numa >= 0 && rank.gpu_numa != rank.cpu_numa)
      far.push_back(static_cast<int>(r));
    if (!rank.peers) alone.push_back(static_cast<int>(r));
  }
  std::ostringstream text;
  text << ranks.size() << (ranks.size() == 1 ? " rank" : " ranks") << " on ";
  if (users.empty()) {
    text << "processors";
  } else {
    text << users.size() << (users.size() == 1 ? " GPU" : " GPUs");
  }
  text << " of " << nodes.size() << (nodes.size() == 1 ? " node" : " nodes");
  for (const std::string &kind : kinds) text << (kind == *kinds.begin() ? ": " : ", ") << kind;
  report.text = text.str();

  for (const auto &[id, sharing] : users)
    if (sharing.size() > 1)
      report.warnings.push_back(fmt::format(
          "{} share a GPU, and its memory: start one rank for each GPU", names_of(sharing)));
  if (kinds.size() > 1)
    report.warnings.push_back("the GPUs are not the same: all ranks wait for the slowest one, and "
                              "the one with the least memory fills first; use GPUs of one kind");
  if (!far.empty())
    report.warnings.push_back(fmt::format("{} run on cores far from their GPU: let the launcher "
                                          "bind each rank to the cores of its GPU's memory domain",
                                          names_of(far)));
  if (!alone.empty())
    report.warnings.push_back(
        fmt::format("{} cannot reach the memory of the other GPUs directly: what travels between "
                    "them goes through the host; use GPUs that NVLink or one PCIe switch connects",
                    names_of(alone)));
  return report;
}

DeviceReport bind_devices(const Communicator &comm, const DeviceRequest &request, int local_rank)
{
  RankDevice own;
  guarded(comm, [&] {
    own.node = host_name();
    own.local_rank = local_rank;
    own.cpu_numa = numa_of_core();
    own.visible = kernels::visible_gpus();
    if (request.kind == DeviceRequest::Kind::cpu && runs_on_gpu())
      throw Error("device cpu: the kernels of this build run on GPUs: use a build without "
                  "DPTRAIN_CUDA for processors");
    if (request.kind == DeviceRequest::Kind::gpu && !runs_on_gpu())
      throw Error(fmt::format("device cuda:{}: the kernels of this build run on processors: build "
                              "with DPTRAIN_CUDA for GPUs",
                              request.index));
    if (runs_on_gpu() && own.visible == 0)
      throw Error("the kernels of this build run on GPUs, and this rank sees none: look at "
                  "nvidia-smi and CUDA_VISIBLE_DEVICES, or use a build without DPTRAIN_CUDA");
    own.device = choose_device(request, own.visible, local_rank);
    if (own.device < 0) return;
    const int running = kernels::running_gpu();
    const int bound = kernels::bound_gpu() >= 0 ? kernels::bound_gpu() : running;
    if (kernels::bound_gpu() < 0) kernels::bind_gpu(running >= 0 ? running : own.device);
    if (bound >= 0 && bound != own.device && request.kind == DeviceRequest::Kind::gpu)
      throw Error(fmt::format(
          "device cuda:{}: this process uses cuda:{} already, since its first model or the start "
          "of KOKKOS: give 'device' where that one is made, or the GPU to KOKKOS",
          own.device, bound));
    own.device = kernels::bound_gpu();
    const kernels::Gpu gpu = kernels::describe_gpu(own.device);
    own.name = gpu.name;
    own.id = gpu.id;
    own.memory = gpu.memory;
    own.major = gpu.major;
    own.minor = gpu.minor;
    own.gpu_numa = gpu.numa;
    own.peers = gpu.peers;
  });
  std::vector<RankDevice> all(comm.size());
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank()) all[rank] = own;
    broadcast(comm, all[rank], rank);
  }
  return describe_devices(all);
}

}  // namespace dptrain
