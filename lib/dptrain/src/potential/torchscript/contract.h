// What a TorchScript potential is to the rest of the library. Each program that exports potentials has its own contract of
// methods and arguments: one class here for each.
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dptrain {

/// What does not change with the parameters.
struct ScriptFacts {
  std::vector<std::string> type_map;
  double cutoff = 0.0;           ///< Angstrom
  bool is_local = true;          ///< see Model::is_local
  int max_neighbors = 0;         ///< the nearest ones of an atom that the model takes
  std::vector<int> sel;          ///< of each type; one number where types are not distinguished
  std::string model_def_script;  ///< JSON, as in the archive
  std::optional<double> min_nbor_dist;  ///< Angstrom
  bool is_double = true;                ///< else it computes in float32
  int num_features = 0;                 ///< see AtomFeatures; 0: it cannot be asked
  int fparam = 0;  ///< parameters of a frame (DeePMD's fparam) that the energy depends on
  bool has_default_fparam = false;
  bool padding_has_type = false;  ///< energies depend on the type of the first atom, see BlockMaker
  bool needs_operators =
      false;  ///< calls operators that are not LibTorch's, as compressed models do
};

/// Atoms of one evaluation as tensors on the model's device: the centers first, then other atoms within the cutoff.
struct ScriptAtoms {
  torch::Tensor coord;      ///< [1][n][3] float64, Angstrom
  torch::Tensor type;       ///< [1][n] int64
  torch::Tensor neighbors;  ///< [1][centers][k] int64, by distance; -1 where there are fewer
  torch::Tensor
      owner;  ///< [1][n] int64, of a ghost the center that it is an image of; empty for local models
  torch::Tensor fparam;  ///< [1][...] float64, or empty
};

struct ScriptResults {
  torch::Tensor atom_energy;  ///< [centers] eV, with the constants in the model
  torch::Tensor force;        ///< [n][3] -dE/dx
  torch::Tensor virial;       ///< [9] row-major [force component][coordinate component]
  torch::Tensor atom_virial;  ///< [n][9], if asked
};

/// One exporter's contract with one archive.
class ScriptContract {
 public:
  virtual ~ScriptContract() = default;
  virtual const ScriptFacts &facts() const = 0;
  /// With `differentiable`, the results can be differentiated with respect to the parameters.
  virtual ScriptResults evaluate(const ScriptAtoms &atoms, bool differentiable,
                                 bool atom_virial) = 0;
  /// Outputs of the last hidden layer, [centers][num_features].
  virtual torch::Tensor features(const ScriptAtoms &atoms) = 0;
  /// Where constants [ntypes] that are added to the energies of atoms may be: one tensor, or several to be changed together.
  /// Of several places the first one whose change changes the energies counts.
  virtual std::vector<std::vector<torch::Tensor>> energy_constants() = 0;
  /// False for names of parameters that are none: tables, counters.
  virtual bool is_parameter(const std::string &name) const = 0;
};

// The contracts that there are: whether a module fulfils one, and the contract.
bool is_deepmd_model(const torch::jit::Module &module);
std::unique_ptr<ScriptContract> make_deepmd_contract(torch::jit::Module module,
                                                     const std::string &path, bool has_operators);

/// The contract that this module fulfils. Without `has_operators` some of its operators are stand-ins. Throws Error that says what it is, where it is none that this library knows.
std::unique_ptr<ScriptContract> make_contract(torch::jit::Module module, const std::string &path,
                                              bool has_operators);

}  // namespace dptrain
