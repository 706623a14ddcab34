#include "dptrain/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/model/model_data.h"
#include "io/file.h"
#include "io/hdf5_state.h"
#include "parallel/byte_archive.h"
#include "potential/files/dp_format.h"
#include "potential/files/stored_model.h"

namespace dptrain {

namespace {

const std::string &group = checkpoint_group;
constexpr std::int64_t format_version = 2;

// What to do with a file that this version does not read.
std::string other_format(std::int64_t version)
{
  if (version > 0 && version < format_version)
    return "a checkpoint of a version before the first release, which cannot be resumed; go on "
           "from its model and its labels: fix dptrain takes this file in pair_coeff as a model, "
           "and with a copy of its .frames file as NEW.frames 'resume NEW' trains it with all "
           "labels; dptrain train takes it with --init-model";
  return fmt::format(
      "checkpoint format {}, this version reads format {}; resume with the version that wrote it",
      version > 0 ? std::to_string(version) : "unknown", format_version);
}

}  // namespace

void write_checkpoint(const std::string &path, const Checkpoint &checkpoint)
{
  Hdf5File file = Hdf5File::create(path);
  write_stored_model(file, {checkpoint.model, checkpoint.parameters, checkpoint.average});
  file.write_integer(group, "format_version", format_version);
  file.write_integer(group, "num_frames", checkpoint.num_frames);
  file.write_value(group + "/training", checkpoint.training);
  file.write_array(group + "/auxiliary_state", checkpoint.auxiliary_state);
  write_state(file, group + "/trainer", checkpoint.trainer);
  write_state(file, group + "/session", checkpoint.session);
  const std::string bytes = file.bytes();
  write_atomically(path, [&](const std::string &name) { write_file(name, bytes); });
}

Checkpoint read_checkpoint(const std::string &path)
{
  const Hdf5File file = open_model_file(path);
  if (!file.has(group))
    throw Error(fmt::format("{}: a model, but not a checkpoint: it has no state of a training to "
                            "resume; name the checkpoint, or start a new training from this model",
                            path));
  const std::optional<std::int64_t> version = file.read_integer(group, "format_version");
  if (version != format_version) throw Error(path + ": " + other_format(version.value_or(0)));
  Checkpoint checkpoint;
  StoredModel stored = read_stored_model(file, path);
  checkpoint.model = std::move(stored.model);
  checkpoint.parameters = std::move(stored.parameters);
  checkpoint.average = std::move(stored.average);
  checkpoint.num_frames = file.read_integer(group, "num_frames").value_or(-1);
  checkpoint.auxiliary_state = file.read_array(group + "/auxiliary_state").values;
  if (checkpoint.num_frames < 0)
    throw Error(fmt::format("{}: damaged checkpoint: it does not tell its number of frames{}", path,
                            checkpoint_advice()));
  const Hdf5File::Value training = file.read_value(group + "/training");
  if (!std::holds_alternative<std::string>(training))
    throw Error(fmt::format("{}: damaged checkpoint: its settings are no text{}", path,
                            checkpoint_advice()));
  checkpoint.training = std::get<std::string>(training);
  State parts;  // which know their places
  for (const char *name : {"trainer", "session"})
    parts.set_group(name, read_state(file, group + "/" + name));
  checkpoint.trainer = parts.group("trainer");
  checkpoint.session = parts.group("session");
  return checkpoint;
}

// All but the model, which has a function of its own.
void visit_fields(ByteArchive &archive, Checkpoint &checkpoint)
{
  auto &[model, parameters, average, trainer, auxiliary_state, num_frames, session, training] =
      checkpoint;
  archive.fields(parameters, average, trainer, auxiliary_state, num_frames, session, training);
}

void broadcast(const Communicator &comm, Checkpoint &checkpoint)
{
  broadcast(comm, checkpoint.model);
  ByteArchive(comm).send(checkpoint);
}

}  // namespace dptrain
