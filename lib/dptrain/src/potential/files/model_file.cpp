#include "dptrain/potential/files/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/potential/files/pth_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "io/file.h"
#include "potential/files/dp_format.h"
#include "potential/files/stored_model.h"

namespace dptrain {

namespace {

// Enough of a file to tell its kind.
std::string first_bytes(const std::string &path)
{
  expect_regular_file(path);
  std::string bytes(4, '\0');
  bytes.resize(File(path, O_RDONLY).read(bytes.data(), bytes.size(), 0));
  return bytes;
}

}  // namespace

bool is_pth(const std::string &path)
{
  return std::filesystem::path(path).extension() == ".pth";
}

std::string find_model_file(const std::string &name)
{
  for (const std::string &path : {name, name + ".dp"})
    if (std::filesystem::exists(path)) return path;
  const bool is_whole = is_pth(name) || std::filesystem::path(name).extension() == ".dp";
  throw Error(fmt::format("there is no file {}{}; check the name", name,
                          is_whole ? "" : fmt::format(" and no {}.dp", name)));
}

void write_model_file(const std::string &path, const ModelData &data)
{
  if (is_pth(path)) return write_pth(path, data);
  if (data.kind == ModelKind::torchscript)
    throw Error(fmt::format(
        "{}: a TorchScript model is written as .pth: choose a name that ends so", path));
  write_dp(path, data);
}

ModelData read_model_file(const std::string &name, bool native)
{
  const std::string path = find_model_file(name);
  if (is_archive(first_bytes(path))) return read_pth(path, native);
  if (!is_checkpoint(path)) return read_dp(path);
  StoredModel stored = read_stored_model(open_model_file(path), path);
  stored.model.parameters = std::move(stored.average.empty() ? stored.parameters : stored.average);
  return std::move(stored.model);
}

bool is_checkpoint(const std::string &name)
{
  const std::string path = find_model_file(name);
  const std::string bytes = read_file(path);
  return Hdf5File::is_hdf5(bytes) && Hdf5File::open(bytes, path).has(checkpoint_group);
}

std::shared_ptr<Model> make_model(ModelData data, const std::string &path)
{
  if (data.kind == ModelKind::torchscript) return make_script_model(std::move(data), path);
  if (!data.fparam.empty())
    throw Error(
        fmt::format("{}: the model has no frame parameters: remove the keyword fparam", path));
  return make_deep_pot(std::move(data));
}

std::shared_ptr<Model> load_model(const std::string &path)
{
  return make_model(read_model_file(path), path);
}

}  // namespace dptrain
