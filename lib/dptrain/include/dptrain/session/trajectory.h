#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// The run that a learning session accompanies, at its present step, as the session sees it: LAMMPS, ASE, or any other
/// engine. The engine has evaluated the model of the slot, if that is trained, on the present configuration. Energies in eV,
/// lengths in Angstrom. What is said to be of a rank is summed or compared by the session; functions that give whole arrays
/// are collective.
class Trajectory {
 public:
  virtual ~Trajectory() = default;
  virtual std::int64_t step() const = 0;
  /// Where the run will end; 0: nobody knows.
  virtual std::int64_t last_step() const { return 0; }
  virtual std::int64_t natoms() const = 0;
  /// Whether the latest evaluation gave uncertainties; the same on all ranks.
  virtual bool has_scores() const = 0;
  /// Uncertainties of this rank's atoms by that evaluation, [number of them].
  virtual std::vector<double> scores() const = 0;
  /// Those of all atoms, [natoms] in the order of configuration().
  virtual std::vector<double> all_scores() = 0;
  /// Sum of the model's features over this rank's atoms, [ntypes][H].
  virtual std::vector<double> feature_sum() const = 0;
  /// Energy of the model, this rank's part.
  virtual double energy() const = 0;
  /// Forces of the model by the latest evaluation on all atoms, [natoms][3] in the order of configuration().
  virtual std::vector<double> forces() = 0;
  /// The present atoms in the order of their ids, without label.
  virtual WholeFrame configuration() = 0;

  /// The model has learned: evaluates it once more on the present configuration.
  virtual void evaluate_again() = 0;
  /// The run goes on from this step with energy, forces and virial of the latest evaluation.
  virtual void follow_model() = 0;
  /// The run goes on from this step with those of a label of configuration(); without a virial the model's stays.
  virtual void follow(const Label &label) = 0;
};

}  // namespace dptrain
