#pragma once

#include "dptrain/input/config.h"
#include "input/key_table.h"

namespace dptrain {

// The sections of input.json. Of each there is a table of its keys, and a function that reads the section into `input`:
// the keys of the table, then what several of them say together. Keys of DeePMD-kit that have no meaning here go to
// input.ignored. Errors name the place in the text, the key, what was found and what is allowed.

/// `model`, without `model_def_script`; its other keys are in model_keys.h.
const Keys<OfflineConfig> &statistics_keys();
void read_model_section(JsonReader model, InputFile &input, bool in_a_run = false);

/// `training` without the keys of an optimizer and of the learning rate that older versions had there: what any training
/// has, and what one from data sets has. Both places of the data: training_data, or, in files of DeePMD-kit 1, `training`
/// itself.
const Keys<TrainingConfig> &training_keys();
const Keys<OfflineConfig> &offline_keys();
void read_training_section(JsonReader &training, InputFile &input);

/// `training_data` and `validation_data`: what both have, and what one of them has.
const Keys<DataConfig> &data_keys();
const Keys<DataConfig> &training_data_keys();
const Keys<DataConfig> &validation_data_keys();

/// `learning_rate`, after `training`, where files of DeePMD-kit before 3.2 have the warm-up.
const Keys<ScheduleConfig> &schedule_keys();
void read_learning_rate_section(JsonReader reader, JsonReader &training, InputFile &input);

/// `loss`
const Keys<LossConfig> &loss_keys();
void read_loss_section(JsonReader reader, InputFile &input);

/// `optimizer`, and the keys of an optimizer in `training`, which files of DeePMD-kit before 3.2 have and which win.
const Keys<OptimizerConfig> &optimizer_keys();
void read_optimizer_section(JsonReader reader, JsonReader &training, InputFile &input);

/// `validating`
void read_validating_section(JsonReader reader, InputFile &input);

/// A section and the tables of its keys, with the values that they have by default.
struct SectionRows {
  std::string section;  ///< such as model/fitting_net
  std::vector<KeyRow> rows;
};
/// All keys that have a meaning here.
std::vector<SectionRows> input_keys();

}  // namespace dptrain
