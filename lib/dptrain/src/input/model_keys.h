#pragma once

#include <array>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "input/json_reader.h"

namespace dptrain {

// Keys that DeePMD-kit's input file and its model file have in common. Each function reads the keys
// of one section into `config`, checks types and ranges, and leaves what is absent as it is.

/// type_map, pair_exclude_types, atom_exclude_types of a section `model`.
void read_type_keys(JsonReader &model, ModelConfig &config);

/// `type` of a section `descriptor`, and then the keys of that kind.
void read_descriptor_section(JsonReader &section, ModelConfig &config);

/// Of any descriptor: precision, trainable and seed, and the cutoff of the model, with this name.
void read_common_keys(JsonReader &section, DescriptorConfig &descriptor);
void read_cutoff(JsonReader &section, const std::string &key, ModelConfig &config);

/// Keys of fitting ener.
void read_fitting_keys(JsonReader &fitting, ModelConfig &config);

/// Whether a text is a finite number and nothing else.
bool is_number(const std::string &text, double &number);
/// Pairs of types, such as [[0, 1]].
std::vector<std::array<int, 2>> read_pairs(JsonReader &section, const std::string &key, int ntypes);
/// `neuron` or `n_neuron`.
std::vector<int> read_widths(JsonReader &section, const std::vector<int> &fallback);

/// Name of an activation function, in lower case: tanh relu relu6 gelu gelu_tf sigmoid softplus silu
/// silut silut:T custom_silu custom_silu:T none linear.
std::string read_activation(JsonReader &reader, const std::string &key,
                            const std::string &fallback);

}  // namespace dptrain
