#pragma once

#include <map>
#include <string>

#include "dptrain/input/config.h"
#include "input/json_reader.h"

namespace dptrain {

// The sections of input.json. Each function reads one section into `input`; keys of DeePMD-kit that have no meaning here
// go to input.ignored. Errors name the place in the text, the key, what was found and what is allowed.

/// `model`, without `model_def_script`.
void read_model_section(JsonReader model, InputFile &input, bool in_a_run = false);
/// `training` without the keys of an optimizer and of the learning rate that older versions had there. Both places of
/// the data: training_data, or, in files of DeePMD-kit 1, `training` itself.
void read_training_section(JsonReader &training, InputFile &input);
/// `learning_rate`, after `training`, where files of DeePMD-kit before 3.2 have the warm-up.
void read_learning_rate_section(JsonReader reader, JsonReader &training, InputFile &input);
/// `loss`
void read_loss_section(JsonReader reader, InputFile &input);
/// `optimizer`, and the keys of an optimizer in `training`, which files of DeePMD-kit before 3.2 have and which win.
void read_optimizer_section(JsonReader reader, JsonReader &training, InputFile &input);
/// `validating`
void read_validating_section(JsonReader reader, InputFile &input);

/// Keys of a training_data or validation_data, or of `training` in files of DeePMD-kit 1.
void read_data_keys(JsonReader &reader, DataConfig &data);

/// Notes keys that have no meaning here. Only those whose value is not DeePMD-kit's default ask for something that does
/// not happen.
void ignore(JsonReader &reader, const std::map<std::string, nlohmann::json> &defaults,
            InputFile &input);

/// Throws unless a type of a section is the first of the known names, or another name of it.
void check_kind(JsonReader &reader, const std::string &found, const std::vector<std::string> &known,
                const std::string &part);

}  // namespace dptrain
