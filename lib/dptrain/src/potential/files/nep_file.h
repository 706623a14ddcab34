#pragma once

#include <string>

#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// Whether a text begins as a nep.txt of GPUMD does.
bool is_nep(const std::string &bytes);
/// A potential in a nep.txt of GPUMD: NEP3, NEP4 or NEP5. Throws Error that names the line, what was found and what is expected.
ModelData read_nep(const std::string &path);
/// Why a model has no form in such a file, and what to do; empty: it has.
std::string not_nep_because(const ModelData &data);
/// Writes NEP4 with all digits. Energies of single elements go through one more neuron, which is constant, and which reading takes out;
/// with as many neurons as GPUMD can have, the file is NEP5.
void write_nep(const std::string &path, const ModelData &data);

}  // namespace dptrain
