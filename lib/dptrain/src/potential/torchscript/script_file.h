// From the bytes of a TorchScript archive to a module, and back to a file.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "potential/torchscript/contract.h"

namespace dptrain {

/// A module with the contract that it fulfils.
struct Script {
  torch::jit::Module module;
  std::unique_ptr<ScriptContract> contract;
  bool has_stand_ins = false;  ///< see LoadableArchive
};

/// Loads an archive. Throws Error that says what the file is and what to do, where it cannot be run here.
Script open_script(const std::string &archive, const std::string &path, torch::Device device);

/// The numbers of a tensor, row-major, in the memory of the host.
std::vector<double> numbers_of(const torch::Tensor &tensor);

/// The last line of what LibTorch says, which has the reason; the others tell where in the archive's code.
std::string script_failure(const std::exception &error);

/// A parameter of a module, which may have it in several places: one tensor, or several that share their memory.
struct ScriptParameter {
  ParameterBlock block;
  std::vector<torch::Tensor> tensors;
};
/// All of them, in the order of the module. Those that the archive holds fixed are not trainable.
std::vector<ScriptParameter> script_parameters(const Script &script);

/// Energies of the types that are constants in the module.
struct EnergyConstants {
  std::vector<torch::Tensor> tensors;  ///< see ScriptContract::energy_constants
  std::vector<double> energy;  ///< [ntypes] eV, what the first of them adds to an atom of each type
  std::vector<char> acts;      ///< [ntypes] whether it adds anything
  double response = 1.0;       ///< change of the energy by a change of all of them

  /// Changes what is added to an atom of each type.
  void add(const std::vector<double> &change) const;
};
/// Finds out by evaluating single atoms. `path` is for messages.
EnergyConstants energy_constants(const Script &script, const torch::Tensor &fparam,
                                 const std::string &path);

/// Frame parameters as a contract takes them; empty where the model has none or has defaults. Throws Error where there are
/// too many or too few of them.
torch::Tensor fparam_tensor(const ScriptFacts &facts, const std::vector<double> &values,
                            const std::string &path, torch::Device device);

}  // namespace dptrain
