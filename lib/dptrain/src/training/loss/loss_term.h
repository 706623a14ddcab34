#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "training/loss/deviation.h"

namespace dptrain {

/// What pass A has found for one frame, on a rank that has some of its atoms, or none.
struct Prediction {
  const Model &model;
  const Frame &frame;                   ///< with its label
  double network_energy = 0.0;          ///< eV, of the atoms here, without energy bias
  std::array<double, 9> virial{};       ///< eV, of the atoms here
  const double *force = nullptr;        ///< [nlocal][3] eV/Angstrom, complete
  const double *atom_energy = nullptr;  ///< [nlocal] eV; null where no term uses it
};

/// Derivatives of the loss L of one frame, to which the terms add theirs.
struct Residual {
  double energy = 0.0;             ///< dL/dE, the same on all ranks
  std::array<double, 9> virial{};  ///< dL/dW, the same on all ranks
  double *force = nullptr;         ///< [nlocal][3] dL/dF of the atoms here
  double *atom_energy =
      nullptr;  ///< [nlocal] dL/dE_i beside that through E; null where no term uses E_i
};

/// One term of the loss of a frame: prefactor times a value that compares what the model says with a label. The value may
/// be any function of E, E_i, F and W whose parts on the ranks are sums; one reduction of the sums of all terms and frames
/// is all that the ranks exchange. A term has no state: the same object serves all frames.
class LossTerm {
 public:
  struct Traits {
    std::string name;   ///< of start_pref_NAME, rmse_NAME, ...
    std::string label;  ///< what it compares with, in messages: "the data have no ..."
    Prefactor prefactor;
    bool shows_mae = false;    ///< reports show the mean absolute error, else the root mean square
    bool uses_forces = false;  ///< adds to Residual::force
  };

  explicit LossTerm(Traits traits) : traits_(std::move(traits)) {}
  virtual ~LossTerm() = default;
  const Traits &traits() const { return traits_; }

  /// Whether the label has what the term needs. A rank without atoms of the frame may say no where others say yes: the
  /// functions below are called on all ranks if one of them has the label.
  virtual bool has_label(const Label &label) const = 0;
  /// Throws Error where the label is there and does not fit.
  virtual void check(const Frame & /*frame*/) const {}
  /// Whether the term needs Prediction::atom_energy of a frame with this label, and may add to Residual::atom_energy.
  virtual bool uses_atom_energies(const Label & /*label*/) const { return false; }

  /// How many sums over the ranks the value needs.
  virtual std::size_t num_sums(const Model &model) const = 0;
  /// Adds the part of the atoms here to sums[num_sums]. Not called on a rank without the label.
  virtual void add_sums(const Prediction &here, double *sums) const = 0;
  /// The value, from the sums over all ranks; the same on all of them. Adds what reports show to `errors`.
  virtual double value(const Prediction &here, const double *sums, Deviation &errors) const = 0;
  /// Adds the derivatives of weight times the value. A rank without atoms may have no label to look at.
  virtual void add_residual(const Prediction &here, const double *sums, double weight,
                            Residual &residual) const = 0;

 private:
  Traits traits_;
};

using LossTerms = std::vector<std::unique_ptr<const LossTerm>>;

/// The terms of DeePMD-kit's loss `ener`, in the order in which reports show them: energy, forces and virial always, as
/// their errors are of interest also where they are off, the others where they are on. Throws Error where settings
/// contradict each other, or a prefactor is one of an unknown term.
LossTerms make_loss_terms(const LossConfig &config);

}  // namespace dptrain
