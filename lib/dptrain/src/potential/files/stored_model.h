#pragma once

#include <string>
#include <vector>

#include "dptrain/potential/model/model_data.h"
#include "io/hdf5_file.h"

namespace dptrain {

/// The group of a checkpoint that holds what a .dp file does not have.
extern const std::string checkpoint_group;

/// The model in a checkpoint.
struct StoredModel {
  ModelData model;                 ///< as exported for use: with the average, if there is one
  std::vector<double> parameters;  ///< those that the optimizer works on, float64
  std::vector<double> average;     ///< of the parameters; empty where none is kept
};

/// Puts the model into a new checkpoint.
void write_stored_model(Hdf5File &file, const StoredModel &stored);
/// Reads it again; `path` is for messages. Throws Error where it is damaged or of an unknown kind.
StoredModel read_stored_model(const Hdf5File &file, const std::string &path);

}  // namespace dptrain
