#pragma once

#include <string>
#include <vector>

#include "dptrain/config.h"
#include "torchscript/script_file.h"

namespace dptrain {

/// Fills in what `data` has not yet of the archive: settings, parameters, energy constants. Throws Error where numbers that
/// it has are not as many as the archive's.
void complete(ModelData &data, const Script &script, const std::vector<ScriptParameter> &parameters,
              const EnergyConstants &constants, const std::string &path);

}  // namespace dptrain
