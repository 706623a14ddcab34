#pragma once

#include <string>

#include "dptrain/potential/model/model_data.h"
#include "io/hdf5_file.h"

namespace dptrain {

/// Puts the metric of a model's features, its error bars and how they were found below a group ("": the file); nothing where
/// there is no metric. Of the matrices the upper triangle is kept, in float32.
void write_bars(Hdf5File &file, const std::string &group, const ModelData &data);
/// Reads them again, where they are there.
void read_bars(const Hdf5File &file, const std::string &group, ModelData &data);

}  // namespace dptrain
