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
/// Writes NEP4, or NEP5 where elements have energies of their own, with the digits of float32 as GPUMD does, so that what is read
/// again is written with the same text.
void write_nep(const std::string &path, const ModelData &data);

}  // namespace dptrain
