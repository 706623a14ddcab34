#pragma once

#include "dptrain/input/config.h"
#include "input/key_table.h"

namespace dptrain {

// The key `baseline` of a section `model`: a list of objects with the words of a force field.

/// Those of one force field.
const Keys<Baseline> &baseline_keys();
std::vector<Baseline> read_baseline(JsonReader &model, const std::string &key);
OrderedJson written_baseline(const std::vector<Baseline> &baseline);
/// After type_map is known: fills in its elements where a force field names none, and refuses what does not fit them.
void check_baseline(JsonReader &model, ModelConfig &config);

}  // namespace dptrain
