#include "dptrain/potential/files/model_file.h"

#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/potential/files/model_format.h"
#include "dptrain/potential/files/pth_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"

namespace dptrain {

std::string find_model_file(const std::string &name)
{
  for (const std::string &path : {name, name + ".dp"})
    if (std::filesystem::exists(path)) return path;
  throw Error(fmt::format("there is no file {}{}; check the name", name,
                          format_of_name(name) ? "" : fmt::format(" and no {}.dp", name)));
}

void write_model_file(const std::string &path, const ModelData &data)
{
  const ModelFormat &format = format_to_write(path);
  const std::string reason = format.cannot_write(data);
  if (!reason.empty()) throw Error(path + ": " + reason);
  format.write(path, data);
}

ModelData read_model_file(const std::string &name, bool native)
{
  const std::string path = find_model_file(name);
  const ModelFormat *format = format_of_file(path);
  return format ? format->read(path, native) : read_dp(path);  // which says what the file is
}

bool is_checkpoint(const std::string &name)
{
  const ModelFormat *format = format_of_file(find_model_file(name));
  return format && format->name == std::string("checkpoint");
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
