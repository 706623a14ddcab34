#include "dptrain/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/model/model_data.h"
#include "io/file.h"
#include "io/hdf5_state.h"
#include "potential/files/dp_format.h"
#include "potential/files/stored_model.h"

namespace dptrain {

namespace {

const std::string &group = checkpoint_group;
constexpr std::int64_t format_version = 4;

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

// What the model's file does not have.
template <class Visit> void fields(Visit &visit, Checkpoint &checkpoint)
{
  auto &[model, parameters, average, trainer, auxiliary_state, num_frames, session, training] =
      checkpoint;
  visit("trainer, auxiliary_state, num_frames, session, training", trainer, auxiliary_state,
        num_frames, session, training);
}

void write_checkpoint(const std::string &path, const Checkpoint &checkpoint)
{
  Hdf5File file = Hdf5File::create(path);
  write_stored_model(file, {checkpoint.model, checkpoint.parameters, checkpoint.average});
  file.write_integer(group, "format_version", format_version);
  write_state(file, group + "/state", state_of(checkpoint));
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
  const State state = read_state(file, group + "/state");
  state.read(checkpoint);
  if (checkpoint.num_frames < 0) state.fail("its number of frames is negative");
  return checkpoint;
}

void broadcast(const Communicator &comm, Checkpoint &checkpoint)
{
  broadcast(comm, checkpoint.model);
  broadcast(comm, checkpoint.parameters);
  broadcast(comm, checkpoint.average);
  ByteArchive(comm).send(checkpoint);
}

}  // namespace dptrain
