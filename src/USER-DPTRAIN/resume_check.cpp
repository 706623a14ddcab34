#include "resume_check.h"

#include <fstream>

#include "dptrain/base/error.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/session/checkpoint.h"
#include "dptrain/uncertainty/active_learning.h"
#include "fmt/format.h"
#include "training_session.h"

using namespace LAMMPS_NS;

namespace {

const std::string SUFFIX = ".ckpt";

bool exists(const std::string &path)
{
  return std::ifstream(path).good();
}

}  // namespace

std::string LAMMPS_NS::text_of(const std::vector<int> &values)
{
  std::vector<std::string> words;
  for (const int value : values) words.push_back(std::to_string(value));
  return joined(words);
}

std::string LAMMPS_NS::resume_path(const std::string &file)
{
  if (exists(file) && dptrain::is_checkpoint(file)) return file;
  if (exists(file + SUFFIX)) return file + SUFFIX;
  if (exists(frames_path_of(file))) return frames_path_of(file);
  throw dptrain::Error(fmt::format(
      exists(file)
          ? "resume: {0} is not a checkpoint, and there is no {0}{1} and no {2} beside it: "
            "'save N FILE' writes FILE{1} and FILE.frames"
          : "resume: there is no checkpoint {0} or {0}{1}, and no {2}: 'save N FILE' "
            "writes FILE{1} and FILE.frames",
      file, SUFFIX, frames_path_of(file)));
}

std::string LAMMPS_NS::frames_path_of(const std::string &checkpoint)
{
  const std::size_t size = checkpoint.size(), suffix = SUFFIX.size();
  const bool ends = size > suffix && checkpoint.compare(size - suffix, suffix, SUFFIX) == 0;
  return (ends ? checkpoint.substr(0, size - suffix) : checkpoint) + ".frames";
}

void LAMMPS_NS::check_same_model(const std::string &path, const dptrain::ModelData &found,
                                 const ModelSlot &slot)
{
  dptrain::ModelData wanted;
  if (slot.model)
    wanted = slot.model->data();
  else
    wanted.config = slot.input->model;
  const std::string differences = dptrain::model_differences(found, wanted);
  if (!differences.empty())
    throw dptrain::Error(fmt::format("resume: {} is a checkpoint of another model than {}: {}",
                                     path, slot.path, differences));
}

dptrain::State LAMMPS_NS::pack(const SessionNumbers &session)
{
  const SessionCounters &counters = session.counters;
  dptrain::State state;
  state.set_text("program", dptrain::program_fix);
  state.set_text("precision", name_of(session.precision));
  state.set_integer("reference_calls", counters.reference_calls);
  state.set_integer("discarded", counters.discarded);
  state.set_flag("trained", counters.trained);
  state.set_integer("label_step", counters.label_step);
  state.set_number("label_energy", counters.label_energy);
  state.set_number("train_seconds", counters.train_seconds);
  state.set_number("reference_seconds", counters.reference_seconds);
  state.set_group("report", session.report.state());
  state.set_integer("earned_steps", session.earned_steps);
  if (session.active.empty()) return state;
  dptrain::State active;
  active.set_array("learning", session.active);
  active.set_number("buffer_error", session.buffer_error);
  active.set_integer("answer_step", counters.answer_step);
  active.set_number("answer_energy", counters.answer_energy);
  active.set_flag("reference_moved", counters.reference_moved);
  active.set_number("energy_jumps", counters.energy_jumps);
  active.set_array("given_whitening", session.given_whitening);
  state.set_group("active", std::move(active));
  return state;
}

void LAMMPS_NS::unpack(const dptrain::State &state, const SessionNumbers &session)
{
  if (!state.has("program") || state.text("program") != dptrain::program_fix)
    throw dptrain::Error("resume: the checkpoint was written by another program than fix dptrain "
                         "(those of dptrain train go on with its --restart; pair_coeff takes "
                         "their model)");
  SessionCounters &counters = session.counters;
  session.precision = dptrain::precision_of(state.text("precision"));
  counters.reference_calls = state.integer("reference_calls");
  counters.discarded = state.integer("discarded");
  counters.trained = state.flag("trained");
  counters.label_step = state.integer("label_step");
  counters.label_energy = state.number("label_energy");
  counters.train_seconds = state.number("train_seconds");
  counters.reference_seconds = state.number("reference_seconds");
  session.report = dptrain::UpdateReport::from(state.group("report"));
  session.earned_steps = state.integer("earned_steps");
  session.given_whitening.clear();
  if (!state.has("active")) return;
  const dptrain::State &active = state.group("active");
  session.active = active.array("learning");
  if (session.active.size() != dptrain::ActiveLearning::state_size())
    throw dptrain::Error("resume: the checkpoint is one of 'mode active' of another version of "
                         "fix dptrain: start with its model in pair_coeff, without resume");
  session.buffer_error = active.number("buffer_error");
  counters.answer_step = active.integer("answer_step");
  counters.answer_energy = active.number("answer_energy");
  counters.reference_moved = active.flag("reference_moved");
  counters.energy_jumps = active.number("energy_jumps");
  session.given_whitening = active.array("given_whitening");
}
