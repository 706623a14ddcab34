#include <fcntl.h>

#include <filesystem>
#include <utility>

#include "dptrain/error.h"
#include "dptrain/files.h"
#include "dptrain/torchscript.h"
#include "io/dp_format.h"
#include "io/file.h"

namespace dptrain {

namespace {

const std::string group = "/dptrain";
constexpr std::int64_t format_version = 1;

// what the model is, as the file says it
const std::string native_kind = "deep_pot", script_kind = "torchscript";

void write_vector(Hdf5File &file, const char *name, const std::vector<double> &values)
{
  file.write_array(group + "/" + name, values.data(), {static_cast<std::int64_t>(values.size())});
}

std::vector<double> read_vector(const Hdf5File &file, const char *name)
{
  return file.read_array(group + "/" + name).values;
}

// Enough of a file to tell its kind.
std::string first_bytes(const std::string &path)
{
  expect_regular_file(path);
  std::string bytes(4, '\0');
  bytes.resize(File(path, O_RDONLY).read(bytes.data(), bytes.size(), 0));
  return bytes;
}

// Beside what is as in a .dp file: where the model comes from an archive, that; a TorchScript model has no tree.
void write_model(Hdf5File &file, const ModelData &model)
{
  const bool is_script = model.kind == ModelKind::torchscript;
  if (!is_script) write_model_tree(file, model);
  file.make_group(group);
  file.write_text(group, "kind", is_script ? script_kind : native_kind);
  if (!model.archive.empty()) file.write_bytes(group + "/archive", model.archive);
  if (!is_script) return;
  write_vector(file, "model_parameters", model.parameters);
  write_vector(file, "out_bias", model.out_bias);
  write_vector(file, "whitening", model.whitening);
  write_vector(file, "calibration", model.calibration);
}

ModelData read_model(const Hdf5File &file, const std::string &path)
{
  const auto kind = file.read_text(group, "kind");
  if (kind != native_kind && kind != script_kind)
    throw Error(path + ": checkpoint of a model of kind \"" + kind.value_or("unknown") +
                "\", this version resumes \"" + native_kind + "\" and \"" + script_kind + "\"");
  ModelData model;
  if (kind == native_kind) model = read_model_tree(file, path);
  if (file.has(group + "/archive")) model.archive = file.read_bytes(group + "/archive");
  if (kind == native_kind) return model;
  model.parameters = read_vector(file, "model_parameters");
  model.out_bias = read_vector(file, "out_bias");
  model.whitening = read_vector(file, "whitening");
  model.calibration = read_vector(file, "calibration");
  complete_from_archive(model, path);
  return model;
}

}  // namespace

void write_checkpoint(const std::string &path, const Checkpoint &checkpoint)
{
  Hdf5File file = Hdf5File::create(path);
  write_model(file, checkpoint.model);
  file.write_integer(group, "format_version", format_version);
  file.write_integer(group, "num_frames", checkpoint.num_frames);
  file.write_text(group, "training", checkpoint.training);
  write_vector(file, "parameters", checkpoint.parameters);
  if (!checkpoint.average.empty()) write_vector(file, "average", checkpoint.average);
  write_vector(file, "trainer_state", checkpoint.trainer_state);
  write_vector(file, "auxiliary_state", checkpoint.auxiliary_state);
  write_vector(file, "counters", checkpoint.counters);
  const std::string bytes = file.bytes();
  write_atomically(path, [&](const std::string &name) { write_file(name, bytes); });
}

Checkpoint read_checkpoint(const std::string &path)
{
  const Hdf5File file = open_model_file(path);
  if (!file.has(group))
    throw Error(path + ": a model, but not a checkpoint: it has no state of a training to resume; "
                       "name the checkpoint, or start a new training from this model");
  const auto version = file.read_integer(group, "format_version");
  if (!version || *version < 1 || *version > format_version)
    throw Error(path + ": checkpoint format " + (version ? std::to_string(*version) : "unknown") +
                ", this version reads format " + std::to_string(format_version) +
                "; resume with the version that wrote it");
  Checkpoint checkpoint;
  checkpoint.model = read_model(file, path);
  checkpoint.num_frames = file.read_integer(group, "num_frames").value_or(-1);
  checkpoint.training = file.read_text(group, "training").value_or("");
  checkpoint.parameters = read_vector(file, "parameters");
  if (file.has(group + "/average")) checkpoint.average = read_vector(file, "average");
  checkpoint.trainer_state = read_vector(file, "trainer_state");
  checkpoint.auxiliary_state = read_vector(file, "auxiliary_state");
  checkpoint.counters = read_vector(file, "counters");
  if (checkpoint.num_frames < 0)
    throw Error(path + ": damaged checkpoint: it does not tell its number of frames");
  const std::size_t size = checkpoint.model.parameters.size();
  for (const auto *weights : {&checkpoint.parameters, &checkpoint.average})
    if (weights->size() != size && !(weights->empty() && weights == &checkpoint.average))
      throw Error(path + ": damaged checkpoint: " + std::to_string(weights->size()) +
                  " raw weights for a model of " + std::to_string(size));
  return checkpoint;
}

bool is_pth(const std::string &path)
{
  return std::filesystem::path(path).extension() == ".pth";
}

std::string find_model_file(const std::string &name)
{
  for (const std::string &path : {name, name + ".dp"})
    if (std::filesystem::exists(path)) return path;
  const bool is_whole = is_pth(name) || std::filesystem::path(name).extension() == ".dp";
  throw Error("there is no file " + name + (is_whole ? "" : " and no " + name + ".dp"));
}

void write_model_file(const std::string &path, const ModelData &data)
{
  if (is_pth(path)) return write_pth(path, data);
  if (data.kind == ModelKind::torchscript)
    throw Error(path + ": a TorchScript model is written as .pth: choose a name that ends so");
  write_dp(path, data);
}

ModelData read_model_file(const std::string &name, bool native)
{
  const std::string path = find_model_file(name);
  if (is_archive(first_bytes(path))) return read_pth(path, native);
  if (!is_checkpoint(path)) return read_dp(path);
  Checkpoint checkpoint = read_checkpoint(path);
  ModelData data = std::move(checkpoint.model);
  data.parameters =
      std::move(checkpoint.average.empty() ? checkpoint.parameters : checkpoint.average);
  return data;
}

bool is_checkpoint(const std::string &name)
{
  const std::string path = find_model_file(name);
  const std::string bytes = read_file(path);
  return Hdf5File::is_hdf5(bytes) && Hdf5File::open(bytes, path).has(group);
}

}  // namespace dptrain
