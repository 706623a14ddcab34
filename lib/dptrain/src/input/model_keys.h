#pragma once

#include <array>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "input/key_table.h"

namespace dptrain {

// Keys that DeePMD-kit's input file and its model file have in common. Each function reads the keys
// of one section into `config`, checks types and ranges, and leaves what is absent as it is.

/// type_map and what is excluded, of a section `model`.
const Keys<ModelConfig> &model_keys();
void read_type_keys(JsonReader &model, ModelConfig &config);

/// Of any descriptor: the cutoff, which is the model's, and what comes after the keys of its kind.
const Keys<ModelConfig> &cutoff_keys();
const Keys<DescriptorConfig> &common_descriptor_keys();
/// `type` of a section `descriptor`, and then the keys of that kind.
void read_descriptor_section(JsonReader &section, ModelConfig &config);

/// Keys of fitting ener.
const Keys<ModelConfig> &fitting_keys();
void read_fitting_keys(JsonReader &fitting, ModelConfig &config);

/// The section `model` with all its keys, from which read_model_keys makes the same settings.
OrderedJson written_model(const ModelConfig &config);
void read_model_keys(JsonReader &model, ModelConfig &config);

/// Whether a text is a finite number and nothing else.
bool is_number(const std::string &text, double &number);
/// Pairs of types, such as [[0, 1]].
std::vector<std::array<int, 2>> read_pairs(JsonReader &section, const std::string &key);
/// Throws unless the types in the value of a key are among those of the model.
void check_types(const JsonReader &section, const std::string &key,
                 const std::vector<std::array<int, 2>> &pairs, int ntypes);
/// Widths of the layers of a net.
std::vector<int> read_widths(JsonReader &section, const std::string &key);
/// Name of an activation function, in lower case: tanh relu relu6 gelu gelu_tf sigmoid softplus silu
/// silut silut:T custom_silu custom_silu:T none linear.
std::string read_activation(JsonReader &reader, const std::string &key);
/// Throws unless the switch begins before the cutoff.
void check_switch(const JsonReader &section, double rcut_smth, double rcut);

}  // namespace dptrain
