#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "dptrain/potential/model/parameter_set.h"
#include "potential/nets/mlp.h"

namespace dptrain {

/// The shape that several nets have in common.
struct NetworkShape {
  int inputs = 1;
  std::vector<int> hidden;  ///< outputs of the layers with an activation
  std::string activation;
  bool resnet_dt = false;  ///< layers with a skip connection have a factor for each output
  bool output = false;     ///< a linear layer with one output follows
  bool skips = true;       ///< where sizes allow, the input of a layer is added to its output

  std::size_t num_layers() const { return hidden.size() + (output ? 1 : 0); }
};

/// Of a layer with an activation: 1 where its input is added to its output, 2 where it is added to both halves, else 0.
int skip_of(const NetworkShape &shape, int in, int out);

// The parameters of net k of a collection have the names NAME/networks/K/layers/L/@variables/w, b, and idt (the factors).

/// Appends the blocks of `number` nets behind what is there. trainable: by layer.
void add_network_blocks(const std::string &name, int number, const NetworkShape &shape,
                        const std::vector<bool> &trainable, std::vector<ParameterBlock> &blocks);
/// The nets as they stand in the flat buffer.
std::vector<Mlp> networks(const std::string &name, int number, const NetworkShape &shape,
                          const std::vector<ParameterBlock> &blocks);
/// Draws a block of a net as DeePMD-kit does: w ~ N(0, 1/sqrt(in + out)), b ~ N(0, 1), idt ~ N(0.1, 0.001).
void draw_weights(const ParameterBlock &block, RandomEngine &engine, double *values);

}  // namespace dptrain
