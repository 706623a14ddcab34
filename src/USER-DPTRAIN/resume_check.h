#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/config.h"
#include "dptrain/trainer.h"
#include "model_slot.h"

namespace LAMMPS_NS {

struct SessionCounters;

/// The numbers with a blank between them.
std::string text_of(const std::vector<int> &values);
/// The checkpoint that the user means with FILE: itself, or FILE.ckpt beside a model FILE; where there is none, the
/// frames file FILE.frames. Throws dptrain::Error.
std::string resume_path(const std::string &file);
/// The frames file that belongs to a checkpoint: FILE.frames for FILE.ckpt.
std::string frames_path_of(const std::string &checkpoint);
/// Throws dptrain::Error that lists what differs between the model of a checkpoint and that of the slot.
void check_same_model(const std::string &path, const dptrain::ModelConfig &found,
                      const ModelSlot &slot);

/// Counters and last report as the numbers of a checkpoint.
std::vector<double> pack_counters(const SessionCounters &counters,
                                  const dptrain::UpdateReport &report, std::int64_t earned_steps);
void unpack_counters(const std::vector<double> &numbers, SessionCounters &counters,
                     dptrain::UpdateReport &report, std::int64_t &earned_steps);

}  // namespace LAMMPS_NS
