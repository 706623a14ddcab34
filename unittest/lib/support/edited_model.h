#pragma once

#include <functional>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model_data.h"
#include "io/file.h"
#include "potential/files/dp_format.h"

namespace dptrain::test {

/// A model file taken apart: the tree of its attribute, with arrays by their names.
struct OpenModel {
  nlohmann::json tree;
  std::map<std::string, Hdf5Array> arrays;

  explicit OpenModel(const ModelData &data)
  {
    Hdf5File file = Hdf5File::create("model in a test");
    write_model_tree(file, data);
    tree = nlohmann::json::parse(file.read_text("/", "json").value());
    collect(file, tree, false);
  }

  /// The array behind a place of the tree, such as /model/descriptor/@variables/davg.
  Hdf5Array &at(const std::string &place)
  {
    return arrays.at(tree.at(nlohmann::json::json_pointer(place)).get<std::string>());
  }

  void write(const std::string &path) const
  {
    Hdf5File file = Hdf5File::create(path);
    for (const auto &[name, array] : arrays)
      file.write_array(name, array.values.data(), array.shape);
    file.write_text("/", "json", tree.dump());
    write_file(path, file.bytes());
  }

 private:
  void collect(const Hdf5File &file, const nlohmann::json &node, bool variables)
  {
    if (variables && node.is_string())
      arrays[node.get<std::string>()] = file.read_array(node.get<std::string>());
    else if (node.is_object())
      for (const auto &[key, child] : node.items())
        collect(file, child, variables || key == "@variables");
    else if (node.is_array())
      for (const auto &child : node) collect(file, child, variables);
  }
};

}  // namespace dptrain::test
