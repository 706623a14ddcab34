#pragma once

#include <string>

#include "dptrain/input/config.h"
#include "input/json_reader.h"

namespace dptrain {

// Keys that DeePMD-kit's input file and its model file have in common. Each function reads the keys
// of one section into `config`, checks types and ranges, and leaves what is absent as it is.

/// type_map, pair_exclude_types, atom_exclude_types of a section `model`.
void read_type_keys(JsonReader &model, ModelConfig &config);

/// Keys of descriptor se_e2_a. `sel` = "auto" or "auto:F" gives an empty list and sel_factor F.
void read_descriptor_keys(JsonReader &descriptor, ModelConfig &config);

/// Keys of fitting ener, after those of the descriptor.
void read_fitting_keys(JsonReader &fitting, ModelConfig &config);

/// Name of an activation function, in lower case: tanh relu relu6 gelu gelu_tf sigmoid softplus silu
/// silut silut:T custom_silu custom_silu:T none linear.
std::string read_activation(JsonReader &reader, const std::string &key,
                            const std::string &fallback);

}  // namespace dptrain
