#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/frames/frame.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/model/tape.h"

namespace dptrain {

struct ModelData;

/// In what the kernels and matrix products compute. `single` is float32 with tables made in float64 and float64 sums;
/// `mixed` is single with matrix products in bfloat16 (CPU) or TF32 (CUDA) where the device has them.
enum class Precision { float64, single, mixed };

/// One named array inside the flat parameter buffer.
struct ParameterBlock {
  std::string name;                  ///< tree path as in the .dp file
  std::vector<std::int64_t> shape;   ///< row-major; weights are [in][out]
  std::size_t offset = 0, size = 0;  ///< in doubles
  bool trainable = true;
};

/// How many parameters are trained.
inline std::size_t num_trainable(const std::vector<ParameterBlock> &index)
{
  std::size_t count = 0;
  for (const ParameterBlock &block : index) count += block.trainable ? block.size : 0;
  return count;
}

/// Where `Model::forward` puts its results. Forces and virials are added to what is there.
struct ForwardOutput {
  double energy = 0.0;  ///< sum over the centers, eV
  double network_energy =
      0.0;  ///< the same without energy_bias(), whose size would hide the last digits
  double *force = nullptr;  ///< [nall][3] eV/Angstrom, on owned atoms and ghosts: -dE/dx
  std::array<double, 9>
      virial{};  ///< eV, sum F (x) x, row-major [force component][coordinate component]
  double *atom_energy = nullptr;  ///< optional [nlocal], set for each center
  double *atom_virial =
      nullptr;  ///< optional [nall][9], the pair term of i and j is given to neighbor j
  // of the last hidden layer's outputs f_i, H = Model::num_features() numbers for each atom; see Model::set_whitening
  double *uncertainty = nullptr;  ///< optional [nlocal], |f_i W|, set for each center
  double *feature_sum = nullptr;  ///< optional [ntypes][H], sum of f_i over the centers of a type
  double *feature_covariance = nullptr;  ///< optional [ntypes][H][H], sum of f_i^T f_i
  double *sampled_force =
      nullptr;  ///< optional [samples][nall][3], what the sampled weights add to the forces
};

/// Weights of the scalar whose parameter gradient is asked:
/// S = energy * E + sum_i atom_energy_i E_i + sum_k force_k . F_k + virial : W
struct GradientSeed {
  double energy = 0.0;                  ///< dL/dE
  const double *atom_energy = nullptr;  ///< [nlocal] dL/dE_i beside that through E; or null
  const double *force =
      nullptr;  ///< [nall][3] dL/dF of the folded forces, on owned atoms and on ghosts; or null
  std::array<double, 9> virial{};  ///< dL/dW
};

/// A potential with parameters. Trainer, evaluator and optimizers know nothing else.
/// Energy is a sum over centers, so both passes take any subset of centers, in bounded memory.
class Model {
 public:
  virtual ~Model() = default;
  virtual double cutoff() const = 0;  ///< Angstrom
  virtual const std::vector<std::string> &type_map() const = 0;
  /// True if the energy of a center depends on its neighbors within the cutoff only (frames can be split over ranks).
  virtual bool is_local() const = 0;

  virtual const std::vector<ParameterBlock> &parameter_index() const = 0;
  virtual const std::vector<double> &parameters() const = 0;
  /// Replaces all parameters; the version grows by one.
  virtual void set_parameters(const std::vector<double> &values) = 0;
  /// Lets `change` write to the parameters where they are (not their number); the version grows by one.
  virtual void change_parameters(const std::function<void(std::vector<double> &)> &change) = 0;
  virtual std::uint64_t version() const = 0;

  /// Says of each block of parameter_index() whether it is trained, or with nothing that it is as in the model file: before
  /// a Trainer is made, which asks once.
  virtual void set_trainable(const std::vector<char> &blocks) = 0;

  /// Constant energy per type in eV, added to the energy of each atom; not a parameter of the optimizer.
  virtual std::vector<double> energy_bias() const = 0;
  virtual void set_energy_bias(const std::vector<double> &bias) = 0;
  /// False for types whose atoms have no energy at all (DeePMD's atom_exclude_types): their bias acts on nothing.
  virtual bool has_energy(int /*type*/) const { return true; }

  /// Makes ready what depends on the parameters alone (tables). Called by forward and gradient when the version changed.
  virtual void prepare() = 0;
  /// The shortest distance (Angstrom) that is coming; a hint that keeps tables equal on all ranks.
  virtual void expect_distance(double r_min) = 0;
  /// Pass A over n domains (the frames of a batch). With `keep`, returns the tape for pass B over the same domains.
  std::unique_ptr<Tape> forward(const Domain *domains, int n, ForwardOutput *out, bool keep)
  {
    return pass_a(domains, n, out, keep);
  }
  void forward(const Domain &domain, ForwardOutput &out) { pass_a(&domain, 1, &out, false); }
  /// Pass B: writes dS/dparameters, S summed over the domains of the tape, to gradient[number of parameters]. What the tape
  /// keeps is used up: a second call computes it again. Throws Error where the tape is another model's, or the parameters
  /// have changed since pass A.
  void gradient(Tape &tape, const GradientSeed *seeds, double *gradient);

  /// Precision of the computation; parameters, sums and results are float64 always.
  virtual void set_precision(Precision precision) = 0;
  /// Number of centers handled at once: bounds the memory of both passes.
  virtual void set_chunk(int centers) = 0;
  /// State beside parameters that a bit-identical continuation needs (grid of the tables). Opaque numbers, for the same
  /// precision. To be set when the model holds the parameters again that it held then: it may be told that the tables
  /// stand for them.
  virtual std::vector<double> auxiliary_state() const = 0;
  virtual void set_auxiliary_state(const std::vector<double> &state) = 0;
  /// By purpose: parameters, tables, workspace.
  virtual MemoryLedger memory() const = 0;
  std::size_t memory_bytes() const { return total_bytes(memory()); }
  /// Gives back what both passes make again when they need it.
  virtual void release_workspace() {}
  /// Both passes go on with smaller chunks where memory runs out on this rank; this tells of it.
  virtual MemoryShortages memory_shortages() const { return {}; }
  /// Atoms seen so far (this rank) with more neighbors of a type than sel keeps.
  virtual std::int64_t overflow_count() const = 0;
  /// The smallest distance (this rank, Angstrom) of atoms that were closer than those of all frames by more than a tenth,
  /// where the model is not made for it; 0: there were none.
  virtual double distance_below_known() const { return 0.0; }

  /// Length H of the vector f_i of the last hidden layer, of which the energy of an atom is a linear function; 0: there is
  /// none, and the outputs of ForwardOutput that need it cannot be asked for.
  virtual int num_features() const { return 0; }
  /// Matrices W [ntypes][H][H] for ForwardOutput::uncertainty and feature_sum. They stay until they are set again.
  virtual void set_whitening(const std::vector<double> & /*matrices*/) {}
  /// Those that were set; empty: none, and the model has no uncertainty.
  virtual std::vector<double> whitening() const { return {}; }
  /// Changes of the last layer's weights, [samples][ntypes][H], whose forces ForwardOutput::sampled_force gets.
  virtual void set_weight_samples(const std::vector<double> & /*changes*/) {}

  /// Content for a model file or checkpoint.
  virtual const ModelData &data() const = 0;

 private:
  virtual std::unique_ptr<Tape> pass_a(const Domain *domains, int n, ForwardOutput *out,
                                       bool keep) = 0;
  virtual void pass_b(Tape &tape, const GradientSeed *seeds, double *gradient) = 0;
};

}  // namespace dptrain
