#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/potential/model/model.h"

namespace dptrain::test {

/// What a toy archive is to be. The toy has the methods and arguments of potentials that DeePMD-kit freezes, and an energy
/// of its own: G_i = sum_j pair[t_i][t_j] exp(-2 (r - mu)^2) (1 - r^2/rc^2)^3, f_i = tanh(G_i w1 + b1[t_i]) and
/// E_i = f_i . w2[t_i] + out_bias[t_i].
struct ScriptToy {
  bool messages =
      false;  ///< f_i = tanh(h_i + (sum_j h_j (1 - r^2/rc^2)^3) message), h the f_i of before
  bool fparam = false;    ///< one parameter of the frame, added to what tanh gets
  bool single = false;    ///< float32
  bool spin = false;      ///< forward_lower asks for spins
  bool energy = true;     ///< else the model says that it predicts dipoles
  bool features = false;  ///< tells f_i, for error bars
  bool padding = false;   ///< free places in a row of neighbors count as the first atom's type does
  bool mixed = false;     ///< one sel for all types
  bool frozen_layer = false;  ///< b1 is not trainable in the archive
  int aparam = 0;
  double cutoff = 4.0;
  std::vector<int> sel{40, 40};
  std::string operators;  ///< of this namespace one is called, in a branch that never runs
};

/// The bytes of an archive. Numbers in it do not depend on where or when it is made.
std::string script_toy(const ScriptToy &toy = {});

/// Toys by the names that write_script_toy takes.
const std::vector<std::pair<std::string, ScriptToy>> &script_toys();

/// Bytes of graphs of pass A that pass B of a TorchScript model may find.
void limit_kept_graphs(Model &model, std::size_t bytes);

}  // namespace dptrain::test
