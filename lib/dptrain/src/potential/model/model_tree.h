#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "input/json_reader.h"
#include "io/hdf5_file.h"

namespace dptrain {

/// The tree of a model file: JSON in which the arrays of the file stand by their names.
using Tree = nlohmann::ordered_json;

/// Writes arrays under the names that DeePMD-kit uses: /variable_0000, /variable_0001, ...
class TreeWriter {
 public:
  explicit TreeWriter(Hdf5File &file) : file_(file) {}
  /// Returns the name to put into the tree.
  std::string add(const double *values, const std::vector<std::int64_t> &shape, bool single);

 private:
  Hdf5File &file_;
  int count_ = 0;
};

/// Reads arrays whose names stand in sections @variables of the tree. Throws Error that names the place of what is damaged.
class TreeReader {
 public:
  explicit TreeReader(const Hdf5File &file) : file_(file) {}
  /// Nothing if the variable is absent; a number in the tree stands for itself.
  std::optional<Hdf5Array> find(JsonReader &variables, const std::string &name) const;
  /// An array that must be there.
  std::vector<double> array(JsonReader &variables, const std::string &name) const;
  /// The same with this shape.
  std::vector<double> array(JsonReader &variables, const std::string &name,
                            const std::vector<std::int64_t> &shape) const;

 private:
  const Hdf5File &file_;
};

/// Throws unless @version lies in [least, most]; absent means 1. `advice`: what to do.
void check_version(JsonReader &section, std::int64_t least, std::int64_t most,
                   const char *advice = "write the model again with DeePMD-kit 3.0 to 3.2");

}  // namespace dptrain
