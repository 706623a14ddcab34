#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// The device that a user asks for: auto, cpu or cuda:K.
struct DeviceRequest {
  enum class Kind { automatic, cpu, gpu };
  Kind kind = Kind::automatic;
  int index = 0;  ///< K, among the GPUs that the process sees
};
/// Throws Error that says what is allowed.
DeviceRequest read_device(const std::string &text);

/// What a rank runs on.
struct RankDevice {
  std::string node;          ///< name of the host
  int local_rank = 0;        ///< among the ranks of the node
  int visible = 0;           ///< GPUs that the process sees
  int device = -1;           ///< the one that it uses, among these; -1: none
  std::string name, id;      ///< of this GPU: its model, and what no other GPU has
  std::int64_t memory = 0;   ///< of this GPU, bytes
  int major = 0, minor = 0;  ///< compute capability
  int gpu_numa = -1,
      cpu_numa =
          -1;  ///< memory domain of the GPU and of the core that the rank was on; -1: unknown
  bool peers = true;  ///< it reaches the memory of the other GPUs that it sees directly
};

/// The GPU for a rank: the one asked for, else one for each rank of a node, in turn. A launcher that shows each rank its own
/// GPU is right by itself. Throws Error if there is no such GPU.
int choose_device(const DeviceRequest &request, int visible, int local_rank);

/// One line that says what all ranks run on, and warnings: GPUs that several ranks share or that differ, ranks far from
/// their GPU, GPUs without direct access to each other.
struct DeviceReport {
  std::string text;
  std::vector<std::string> warnings;
};
DeviceReport describe_devices(const std::vector<RankDevice> &ranks);

/// Chooses the device of each rank and binds kernels and LibTorch to it; to be called before the first model is made, later
/// calls change nothing. No other device gets a context. Throws Error on all ranks where the request cannot be met.
/// Collective.
DeviceReport bind_devices(const Communicator &comm, const DeviceRequest &request, int local_rank);

}  // namespace dptrain
