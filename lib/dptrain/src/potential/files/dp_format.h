#pragma once

#include <string>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model_data.h"
#include "io/hdf5_file.h"

namespace dptrain {

/// Reads the bytes of a model file and opens them as HDF5. Throws an Error of its own for each kind
/// of wrong file: missing, directory, unreadable, another known format, truncated.
Hdf5File open_model_file(const std::string &path);

/// Versions of the section `model`: DeePMD-kit's, and those with what it has not and would leave out.
constexpr int version_of_deepmd = 2, version_with_baseline = 3, version_with_terms = 4;

/// The content of an open .dp file. `path` is for messages.
ModelData read_model_tree(const Hdf5File &file, const std::string &path);

/// Puts a model into a new HDF5 file, in DeePMD-kit's native layout.
void write_model_tree(Hdf5File &file, const ModelData &data);

}  // namespace dptrain
