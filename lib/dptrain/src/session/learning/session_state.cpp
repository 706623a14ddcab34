#include "session/learning/session_state.h"

#include <fmt/format.h>
#include <fstream>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/uncertainty/active_learning.h"
#include "session/requests/request_file.h"

namespace dptrain {

namespace {

const std::string suffix = ".ckpt";

bool exists(const std::string &path)
{
  return std::ifstream(path).good();
}

}  // namespace

std::string resume_path(const std::string &file)
{
  if (exists(file) && is_checkpoint(file)) return file;
  if (exists(file + suffix)) return file + suffix;
  const std::string frames = frames_path_of(file);
  if (exists(frames) || exists(requests_path_of(frames))) return frames;
  const std::string checkpoint = file + suffix,
                    how = fmt::format("'save' writes FILE{} and FILE.frames", suffix);
  throw Error(
      exists(file)
          ? fmt::format(
                "resume: {} is not a checkpoint, and there is no {} and no {} beside it: {}", file,
                checkpoint, frames, how)
          : fmt::format("resume: there is no checkpoint {} or {}, and no {}: {}", file, checkpoint,
                        frames, how));
}

std::string frames_path_of(const std::string &checkpoint)
{
  const std::string name = ends_with(checkpoint, suffix)
                               ? checkpoint.substr(0, checkpoint.size() - suffix.size())
                               : checkpoint;
  return name + ".frames";
}

void check_same_model(const std::string &path, const ModelData &found, const ModelInUse &slot)
{
  ModelData wanted;
  if (slot.model())
    wanted = slot.model()->data();
  else
    wanted.config = slot.input()->model;
  const std::string differences = model_differences(found, wanted);
  if (!differences.empty())
    throw Error(fmt::format("resume: {} is a checkpoint of another model than {}: {}", path,
                            slot.path(), differences));
}

State pack(const SessionState &session)
{
  const SessionCounters &counters = session.counters;
  State state;
  state.set_text("program", program_fix);
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
  state.set_flag("is_right", session.training_deferred);
  if (session.active.empty()) return state;
  State active;
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

SessionState unpack(const State &state)
{
  if (!state.has("program") || state.text("program") != program_fix)
    throw Error("resume: the checkpoint was written by another program than fix dptrain (those of "
                "dptrain train go on with its --restart; pair_coeff takes their model)");
  SessionState session;
  SessionCounters &counters = session.counters;
  session.precision = precision_of(state.text("precision"));
  counters.reference_calls = state.integer("reference_calls");
  counters.discarded = state.integer("discarded");
  counters.trained = state.flag("trained");
  counters.label_step = state.integer("label_step");
  counters.label_energy = state.number("label_energy");
  counters.train_seconds = state.number("train_seconds");
  counters.reference_seconds = state.number("reference_seconds");
  session.report = UpdateReport::from(state.group("report"));
  session.earned_steps = state.integer("earned_steps");
  session.training_deferred = state.has("is_right") && state.flag("is_right");
  if (!state.has("active")) return session;
  const State &active = state.group("active");
  session.active = active.array("learning");
  if (session.active.size() != ActiveLearning::state_size())
    throw Error("resume: the checkpoint is one of 'mode active' of another version of fix dptrain: "
                "start with its model in pair_coeff, without resume");
  session.buffer_error = active.number("buffer_error");
  counters.answer_step = active.integer("answer_step");
  counters.answer_energy = active.number("answer_energy");
  counters.reference_moved = active.flag("reference_moved");
  counters.energy_jumps = active.number("energy_jumps");
  session.given_whitening = active.array("given_whitening");
  return session;
}

}  // namespace dptrain
