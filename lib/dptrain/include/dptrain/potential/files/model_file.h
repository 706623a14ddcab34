#pragma once

#include <memory>
#include <string>

#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// Reads / writes DeePMD-kit's native .dp (HDF5) file on the calling rank.
ModelData read_dp(const std::string &path);
void write_dp(const std::string &path, const ModelData &data);

/// Writes a file of the format that its name asks for (format_to_write). Throws Error where the model has no such form.
void write_model_file(const std::string &path, const ModelData &data);

/// True if the file is a checkpoint of this library (an HDF5 file with its group), not a plain .dp.
/// `name` as for find_model_file.
bool is_checkpoint(const std::string &name);

/// The file that is meant by the name of a model or checkpoint: NAME, or NAME.dp. Throws Error if there is neither.
std::string find_model_file(const std::string &name);

/// A model file (.dp or TorchScript .pth), or the model of a checkpoint with its weights in float64: those of the optimizer
/// or, where one is kept, their average, which is the better model. `path` is a name as for find_model_file. With `native`,
/// archives that can be run by the native kernels become native models.
ModelData read_model_file(const std::string &path, bool native = true);

/// The model of a file's content, native or TorchScript; `path` is for messages.
std::shared_ptr<Model> make_model(ModelData data, const std::string &path);
/// Reads a model file on the calling rank. Throws Error: missing, of no known format, unsupported descriptor.
std::shared_ptr<Model> load_model(const std::string &path);

}  // namespace dptrain
