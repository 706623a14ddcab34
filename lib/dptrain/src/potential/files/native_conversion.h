#pragma once

#include <optional>
#include <string>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model_data.h"
#include "potential/torchscript/script_file.h"

namespace dptrain {

/// The native model of an archive with descriptor se_e2_a and fitting ener, with `archive` as it is in `data` (none of a
/// compressed one). Nothing where the native kernels do not have all that the archive has.
std::optional<ModelData> to_native(const Script &script, const ModelData &data);

/// Name in the archive of a parameter of a native model that comes from one.
std::string name_in_archive(const std::string &native_name);

}  // namespace dptrain
