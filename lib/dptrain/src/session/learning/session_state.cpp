#include "session/learning/session_state.h"

#include <fmt/format.h>
#include <fstream>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
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
  const std::string name = checkpoint.ends_with(suffix)
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
  if (slot.path() == new_model_name && !wanted.config.has_term("charges"))
    wanted.config.terms.push_back(make_energy_term_config("charges"));  // which a run searches
  const std::string differences = model_differences(found, wanted);
  if (!differences.empty())
    throw Error(fmt::format("resume: {} is a checkpoint of another model than {}: {}", path,
                            slot.path(), differences));
}

State pack(const SessionState &session)
{
  State state = state_of(session);
  state.set("program", program_fix);
  return state;
}

SessionState unpack(const State &state)
{
  if (!state.has("program") || state.at<std::string>("program") != program_fix)
    throw Error("resume: the checkpoint was written by another program than fix dptrain (those of "
                "dptrain train go on with its --restart; pair_coeff takes their model)");
  SessionState session;
  state.read(session);
  return session;
}

}  // namespace dptrain
