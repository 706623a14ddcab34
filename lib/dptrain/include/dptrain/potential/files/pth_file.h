#pragma once

#include <memory>
#include <string>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// Whether the file is a zip archive, as PyTorch writes them (.pth, .pt2, .pt).
bool is_archive(const std::string &bytes);

/// The model in a TorchScript archive (.pth) that DeePMD-kit 3.0 to 3.2 has frozen, or that write_pth has written. With
/// `native`, one that the kernels of this library can run (se_e2_a with fitting ener) becomes a native model. Throws Error
/// that says what the file is and what to do, where it cannot be used.
ModelData read_pth(const std::string &path, bool native = true);

/// Fills in what `data` lacks of its archive; what it has stays.
void complete_from_archive(ModelData &data, const std::string &path);

/// Why a model of this kind stays TorchScript: what of it the native kernels do not have. Empty: it need not.
std::string not_native_because(const std::string &model_def_script);

/// Why a model cannot be written as a .pth, and what to do; empty: it can.
std::string not_pth_because(const ModelData &data);

/// Writes the archive again with the parameters, energy bias and uncertainty of `data`, atomically: for pair_style deepmd,
/// DeePMD-kit's Python and C++ and this program. Throws Error if the model does not come from an archive.
void write_pth(const std::string &path, const ModelData &data);

/// The potential in the archive of `data`; `path` is for messages.
std::shared_ptr<Model> make_script_model(ModelData data, const std::string &path);

}  // namespace dptrain
