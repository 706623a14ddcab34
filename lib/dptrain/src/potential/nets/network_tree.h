#pragma once

#include <string>
#include <vector>

#include "potential/model/model_tree.h"
#include "potential/nets/networks.h"

namespace dptrain {

// Nets of one shape in the tree of a model file, as DeePMD-kit writes them: a NetworkCollection.

/// What the tree says of a collection beside its weights.
struct CollectionHeader {
  std::string kind;  ///< network_type
  int dimensions;    ///< 1: a net for each type, 2: for each pair of types
  int ntypes;
  Tree net;               ///< of each net, before its layers
  std::string precision;  ///< of the stored weights
};

/// Writes the nets that `add_network_blocks` has given the blocks of.
Tree write_networks(TreeWriter &writer, const CollectionHeader &header, const std::string &name,
                    int number, const NetworkShape &shape,
                    const std::vector<ParameterBlock> &blocks,
                    const std::vector<double> &parameters);
/// Throws Error where the settings of a layer are not those of the shape: DeePMD-kit could store others for each.
void check_networks(JsonReader collection, int number, const NetworkShape &shape);

}  // namespace dptrain
