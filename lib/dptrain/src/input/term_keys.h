#pragma once

#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "input/key_table.h"

namespace dptrain {

// The key `terms` of a section `model`: a list of objects, each with a `type` and the keys of that kind.

/// The type_map of the model is known.
std::vector<AnyEnergyTermConfig> read_terms(JsonReader &model, const std::string &key,
                                            const ModelConfig &config);
/// Whether one of them is of this kind.
bool has_term(const std::vector<AnyEnergyTermConfig> &terms, const std::string &type);
/// Null without terms.
OrderedJson written_terms(const std::vector<AnyEnergyTermConfig> &terms);

}  // namespace dptrain
