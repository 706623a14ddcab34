#include "dptrain/potential/files/pth_file.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "io/file.h"
#include "potential/files/native_conversion.h"
#include "potential/files/stored_bars.h"
#include "potential/torchscript/archive.h"
#include "potential/torchscript/operators.h"
#include "potential/torchscript/script_model.h"

namespace dptrain {

namespace {

/// What only this library keeps in an archive: an HDF5 file of its own, which others pass over.
const std::string own_record = "dptrain.h5";

void read_own(const std::string &bytes, const std::string &path, ModelData &data)
{
  for (const ArchiveRecord &record : read_records(bytes, path, "extra/" + own_record))
    read_bars(Hdf5File::open(record.bytes, fmt::format("{}: error bars in {}", path, record.name)),
              "", data);
}

torch::jit::ExtraFilesMap extra_files(const ModelData &data, const std::string &path)
{
  const std::string folder = "extra/";
  torch::jit::ExtraFilesMap files;
  for (const ArchiveRecord &record : read_records(data.archive, path, folder))
    files[record.name.substr(folder.size())] = record.bytes;
  files.erase(own_record);
  if (data.metric.empty()) return files;
  Hdf5File file = Hdf5File::create(path);
  write_bars(file, "", data);
  files[own_record] = file.bytes();
  return files;
}

/// The energies of atoms do not matter for what their constants add: any fparam will do.
EnergyConstants constants_of(const Script &script, const std::string &path)
{
  const ScriptFacts &facts = script.contract->facts();
  const std::vector<double> any(facts.has_default_fparam ? 0 : facts.fparam, 0.0);
  return energy_constants(script, fparam_tensor(facts, any, path, torch::kCPU), path);
}

/// An archive that new parameters can be put into any number of times.
struct OpenArchive {
  OpenArchive(const std::string &archive, const std::string &path) :
      bytes(archive),
      script(open_script(archive, path, torch::kCPU)),
      constants(constants_of(script, path))
  {
    script.module.eval();
    for (const torch::Tensor &tensor : constants.tensors) original.push_back(tensor.clone());
  }

  std::string bytes;
  Script script;
  EnergyConstants constants;
  std::vector<torch::Tensor> original;  ///< of constants.tensors
};

/// The archive that was written last stays open: to compile it again takes longer than all the rest of writing. Never
/// closed, for LibTorch may be gone when static objects are.
OpenArchive &open_for_writing(const std::string &archive, const std::string &path)
{
  thread_local auto *last = new std::unique_ptr<OpenArchive>;
  if (!*last || (*last)->bytes != archive) *last = std::make_unique<OpenArchive>(archive, path);
  return **last;
}

/// Puts parameters and energies of `data` into the archive's module.
void fill(OpenArchive &archive, const ModelData &data, const std::string &path)
{
  const torch::NoGradGuard no_graph;
  const Script &script = archive.script;
  std::map<std::string, torch::Tensor> tensors;
  std::vector<ParameterBlock> index;
  for (const ScriptParameter &parameter : script_parameters(script)) {
    tensors[parameter.block.name] = parameter.tensors.front();
    index.push_back(parameter.block);
  }
  const bool native = data.kind == ModelKind::native;
  if (native) index = parameter_index(data.config);
  for (const ParameterBlock &block : index) {
    const auto found = tensors.find(native ? name_in_archive(block.name) : block.name);
    if (found == tensors.end() || static_cast<std::size_t>(found->second.numel()) != block.size)
      throw internal_error(fmt::format(
          "{}: the archive that the model comes from has no place for {}", path, block.name));
    const torch::Tensor values = torch::tensor(
        at::ArrayRef<double>(data.parameters.data() + block.offset, block.size), torch::kFloat64);
    found->second.copy_(values.view(found->second.sizes()));
  }
  const EnergyConstants &constants = archive.constants;
  std::vector<double> change = data.out_bias;
  for (std::size_t t = 0; t < change.size(); ++t) change[t] -= constants.energy[t];
  for (std::size_t k = 0; k < archive.original.size(); ++k)
    constants.tensors[k].copy_(archive.original[k]);
  if (!constants.tensors.empty()) constants.add(change);
}

}  // namespace

bool is_archive(const std::string &bytes)
{
  return bytes.starts_with("PK\x03\x04");
}

static void complete_from(const Script &script, ModelData &data, const std::string &path)
{
  complete(data, script, script_parameters(script), constants_of(script, path), path);
}

void complete_from_archive(ModelData &data, const std::string &path)
{
  complete_from(open_script(data.archive, path, torch::kCPU), data, path);
}

ModelData read_pth(const std::string &path, bool native)
{
  ModelData data;
  data.archive = read_file(path);
  const Script script = open_script(data.archive, path, torch::kCPU);
  read_own(data.archive, path, data);
  complete_from(script, data, path);
  if (native)
    if (auto converted = to_native(script, data)) return *converted;
  return data;
}

std::string not_pth_because(const ModelData &data)
{
  if (!data.archive.empty() && !data.walls.empty())
    return "a .pth cannot keep the walls of this model: write it as .dp, or leave them out "
           "(pair_style dptrain wall no)";
  if (!data.archive.empty()) return "";
  if (data.config.descriptor && !data.config.descriptor->is_in_deepmd())
    return fmt::format(
        "models with descriptor {} must be written as .dp: DeePMD-kit does not have this "
        "descriptor, so that none of its tools and formats (.pth, .pb, ...) can hold them. "
        "pair_style dptrain and, in Python, dptrain.load and dptrain.ase.Calculator run them",
        data.config.descriptor->type());
  if (data.config.descriptor && !data.config.is_in_deepmd())
    return "models with a baseline or terms must be written as .dp: DeePMD-kit does not have them";
  return "a model that does not come from a TorchScript archive must be written as .dp, of which "
         "DeePMD-kit makes a .pth (dp convert-backend model.dp model.pth)";
}

void write_pth(const std::string &path, const ModelData &data)
{
  const std::string reason = not_pth_because(data);
  if (!reason.empty()) throw Error(fmt::format("{}: {}", path, reason));
  OpenArchive &archive = open_for_writing(data.archive, path);
  fill(archive, data, path);
  std::ostringstream stream;
  archive.script.module.save(stream, extra_files(data, path));
  std::string bytes = stream.str();
  if (archive.script.has_stand_ins) bytes = with_real_names(bytes, path);
  write_atomically(path, [&](const std::string &name) { write_file(name, bytes); });
}

std::shared_ptr<Model> make_script_model(ModelData data, const std::string &path)
{
  return std::make_shared<ScriptModel>(std::move(data), path);
}

}  // namespace dptrain
