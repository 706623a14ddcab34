#include "potential/files/stored_model.h"

#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/files/pth_file.h"
#include "potential/files/dp_format.h"
#include "potential/files/stored_bars.h"

namespace dptrain {

const std::string checkpoint_group = "/dptrain";

namespace {

const std::string &group = checkpoint_group;

// what the model is, as the file says it
const std::string native_kind = "deep_pot", script_kind = "torchscript";

// Beside what is as in a .dp file: where the model comes from an archive, that; a TorchScript model has no tree.
void write_model(Hdf5File &file, const ModelData &model)
{
  const bool is_script = model.kind == ModelKind::torchscript;
  if (!is_script) write_model_tree(file, model);
  file.make_group(group);
  file.write_text(group, "kind", is_script ? script_kind : native_kind);
  if (!model.archive.empty()) file.write_bytes(group + "/archive", model.archive);
  if (!is_script) return;
  file.write_array(group + "/model_parameters", model.parameters);
  file.write_array(group + "/out_bias", model.out_bias);
  write_bars(file, group, model);
}

ModelData read_model(const Hdf5File &file, const std::string &path)
{
  const auto kind = file.read_text(group, "kind");
  if (kind != native_kind && kind != script_kind)
    throw Error(fmt::format("{}: checkpoint of a model of kind \"{}\", this version resumes \"{}\" "
                            "and \"{}\"; resume with the version that wrote it",
                            path, kind.value_or("unknown"), native_kind, script_kind));
  ModelData model;
  if (kind == native_kind) model = read_model_tree(file, path);
  if (file.has(group + "/archive")) model.archive = file.read_bytes(group + "/archive");
  if (kind == native_kind) return model;
  model.parameters = file.read_array(group + "/model_parameters").values;
  model.out_bias = file.read_array(group + "/out_bias").values;
  read_bars(file, group, model);
  complete_from_archive(model, path);
  return model;
}

}  // namespace

void write_stored_model(Hdf5File &file, const StoredModel &stored)
{
  write_model(file, stored.model);
  file.write_array(group + "/parameters", stored.parameters);
  if (!stored.average.empty()) file.write_array(group + "/average", stored.average);
}

StoredModel read_stored_model(const Hdf5File &file, const std::string &path)
{
  StoredModel stored;
  stored.model = read_model(file, path);
  stored.parameters = file.read_array(group + "/parameters").values;
  if (file.has(group + "/average")) stored.average = file.read_array(group + "/average").values;
  const std::size_t size = stored.model.parameters.size();
  for (const auto *weights : {&stored.parameters, &stored.average})
    if (weights->size() != size && !(weights->empty() && weights == &stored.average))
      throw Error(fmt::format("{}: damaged checkpoint: {} raw weights for a model of {}{}", path,
                              weights->size(), size, checkpoint_advice()));
  return stored;
}

}  // namespace dptrain
