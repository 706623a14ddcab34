#pragma once

#include <string>
#include <vector>

#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// A format of files that hold a model. All there are stand in model_formats() (potential/files/model_format.cpp); a new one
/// is one entry there.
struct ModelFormat {
  const char *name;  ///< for messages
  const char *
      ending;  ///< of names under which models are written in it; empty: none is written by its name
  /// Whether a file is one, by its content; `path` is for messages.
  bool (*matches)(const std::string &bytes, const std::string &path);
  /// The model in a file. With `native`, archives that can be run by the native kernels become native models.
  ModelData (*read)(const std::string &path, bool native);
  /// Why a model cannot be written in it, and what to do; empty: it can.
  std::string (*cannot_write)(const ModelData &model);
  void (*write)(const std::string &path, const ModelData &model);
};

const std::vector<ModelFormat> &model_formats();

/// The format of a file, by its content; null if it is of none. Throws Error if it cannot be read.
const ModelFormat *format_of_file(const std::string &path);
/// The format in which a model is written under a name; null: the name has none of the endings.
const ModelFormat *format_of_name(const std::string &path);
/// The same, and .dp for names without a known ending.
const ModelFormat &format_to_write(const std::string &path);

/// What a file that is of no format of models seems to be, and what to do with it.
std::string describe_foreign(const std::string &bytes, const std::string &path);
/// Whether a file is an input.json, which stands for a new model, and not a model.
bool is_input_file(const std::string &path);

}  // namespace dptrain
