#pragma once

#include <string>

namespace dptrain {

/// In what the kernels and matrix products compute. `single` is float32 with tables made in float64 and float64 sums;
/// `mixed` is single with matrix products in bfloat16 (CPU) or TF32 (CUDA) where the device has them.
enum class Precision { float64, single, mixed };

/// As users write it, and as files keep it: double, single, mixed.
std::string name_of(Precision precision);
/// The precision of this name. Throws Error that names the allowed ones.
Precision precision_of(const std::string &name);

}  // namespace dptrain
