#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/frames/frame.h"
#include "dptrain/potential/model/atom_features.h"
#include "dptrain/potential/model/charges.h"
#include "dptrain/potential/model/error_bars.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/model/parameter_set.h"
#include "dptrain/potential/model/precision.h"
#include "dptrain/potential/model/tape.h"

namespace dptrain {

/// Where `Model::forward` puts its results. Forces and virials are added to what is there. Arrays by atom lie where those of
/// the domain do.
struct ForwardOutput {
  bool sums = true;     ///< energies and virial of the domain are wanted
  double energy = 0.0;  ///< sum over the centers, eV
  double network_energy =
      0.0;  ///< the same without energy_bias(), whose size would hide the last digits
  double *force = nullptr;  ///< [nall][3] eV/Angstrom, on owned atoms and ghosts: -dE/dx
  std::array<double, 9>
      virial{};  ///< eV, sum F (x) x, row-major [force component][coordinate component]
  double *atom_energy = nullptr;  ///< optional [nlocal], set for each center
  double *atom_virial =
      nullptr;  ///< optional [nall][9], the pair term of i and j is given to neighbor j
  double *charge =
      nullptr;  ///< optional [nlocal], e, set where the domain has `whole` and Model::charges is not empty
  // of the features f_i of the atoms, H numbers for each; see AtomFeatures
  double *bar =
      nullptr;  ///< optional [nlocal], error bar of the force, eV/Angstrom, set for each center; where the
                ///< model's bars are not calibrated the distance from what it knows, a plain number
  double *feature_sum = nullptr;  ///< optional [ntypes][H], sum of f_i over the centers of a type
  double *feature_covariance = nullptr;  ///< optional [ntypes][H][H], sum of f_i^T f_i
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

/// Of the neighbors of this rank's centers.
struct NeighborReport {
  /// Atoms seen so far with more neighbors of a type than sel keeps.
  std::int64_t overflow = 0;
  /// The smallest distance (Angstrom) of atoms that were closer than those of all frames by more than a tenth, where the
  /// model is not made for it; 0: there were none.
  double below_known = 0.0;
  /// Of the latest sweep: the pair that is deepest in its wall.
  WallContact wall;
};

/// A potential with parameters. Trainer, evaluator and optimizers know nothing else.
/// Energy is a sum over centers, so both passes take any subset of centers, in bounded memory.
class Model {
 public:
  virtual ~Model() = default;
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  double cutoff() const { return data_.config.cutoff(); }  ///< Angstrom
  const std::vector<std::string> &type_map() const { return data_.config.type_map; }
  /// True if the energy of a center depends on its neighbors within the cutoff only (frames can be split over ranks).
  bool is_local() const { return !data_.passes_messages; }
  ParameterSet &parameters() { return parameters_; }
  const ParameterSet &parameters() const { return parameters_; }
  /// Constant energy per type in eV, added to the energy of each atom; not a parameter of the optimizer.
  const std::vector<double> &energy_bias() const { return data_.out_bias; }
  void set_energy_bias(const std::vector<double> &bias) { data_.out_bias = bias; }
  /// False for types whose atoms have no energy at all (DeePMD's atom_exclude_types): their bias acts on nothing.
  bool has_energy(int type) const { return has_energy_[type] != 0; }
  /// Empty: the model has none.
  const Walls &walls() const { return data_.walls; }
  /// Null where the model tells none: what ForwardOutput has of them cannot be asked for.
  AtomFeatures *features() { return features_ ? &*features_ : nullptr; }
  const AtomFeatures *features() const { return features_ ? &*features_ : nullptr; }
  /// By the present parameters; none: the model has none. Their energy is left out in domains without Domain::whole.
  virtual std::optional<Charges> charges() const { return std::nullopt; }
  /// What distances of features mean as errors of forces.
  const ErrorBars &bars() const { return data_.bars; }
  void set_bars(const ErrorBars &bars)
  {
    data_.bars = bars;
    ++bars_version_;
  }
  /// Another number after each change of the bars.
  std::uint64_t bars_version() const { return bars_version_; }
  /// Content for a model file or checkpoint: a copy.
  ModelData data() const;

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
  /// The same for a gradient in the memory of the kernels.
  void gradient_in_kernels(Tape &tape, const GradientSeed *seeds, double *gradient);

  /// Whether domains may lie in the memory of the kernels where the host cannot read it.
  virtual bool reads_kernel_memory() const { return false; }
  /// Other walls; a model that runs another program has none, and throws Error. Not while a tape is in use.
  virtual void set_walls(const Walls &walls) = 0;
  /// How close atoms come in frames that are to be learned. Tables reach as far, and walls move inwards: to be told to all ranks
  /// before the frames are.
  virtual void expect_distances(const PairDistances &closest) = 0;
  /// Precision of the computation; parameters, sums and results are float64 always.
  virtual void set_precision(Precision precision) = 0;
  /// Number of centers handled at once: bounds the memory of both passes.
  virtual void set_chunk(int centers) = 0;
  /// State beside parameters that a bit-identical continuation needs (grid of the tables). Opaque numbers, for the same
  /// precision. Set it after restoring the parameters that were saved with it: the tables may be taken as up to date
  /// for them.
  virtual std::vector<double> auxiliary_state() const = 0;
  virtual void set_auxiliary_state(const std::vector<double> &state) = 0;
  virtual NeighborReport neighbor_report() const = 0;

  /// By purpose: parameters, tables, workspace.
  virtual MemoryLedger memory() const = 0;
  std::size_t memory_bytes() const { return total_bytes(memory()); }
  /// Gives back what both passes make again when they need it.
  virtual void release_workspace() = 0;
  /// Both passes go on with smaller chunks where memory runs out on this rank; these are counted here.
  const MemoryShortages &memory_shortages() const { return shortages_; }

 protected:
  /// What `data` has of parameters and metric moves to where it is kept. has_energy: by type.
  Model(ModelData &&data, std::vector<ParameterBlock> blocks, std::vector<char> has_energy);
  /// For models that tell features of their atoms. Throws Error where `data` has the metric of others.
  void add_features(int number, bool centered);
  /// Where memory has run out: counts that, and gives back all that can be had again.
  void give_memory_back(const std::string &cause);

  ModelData data_;  // without parameters and metric
  std::vector<char> has_energy_;
  MemoryShortages shortages_;

 private:
  virtual std::unique_ptr<Tape> pass_a(const Domain *domains, int n, ForwardOutput *out,
                                       bool keep) = 0;
  /// gradient: in the memory of the kernels
  virtual void pass_b(Tape &tape, const GradientSeed *seeds, double *gradient) = 0;

  ParameterSet parameters_;
  std::optional<AtomFeatures> features_;
  std::uint64_t bars_version_ = 1;
};

}  // namespace dptrain
