#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// How a run stands, as far as it shows without the model.
struct RunCondition {
  double kinetic_energy = 0.0;  ///< per atom, eV; 0: not known
  double volume = 0.0;          ///< Angstrom^3; 0: not known
  double closest = 0.0;         ///< smallest distance of two atoms, Angstrom; 0: not known
};

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
  /// Whether the model of the latest evaluation has error bars; the same on all ranks.
  virtual bool has_bars() const = 0;
  /// Those of this rank's atoms, [number of them], as ForwardOutput::bar has them. Collective.
  virtual std::vector<double> bars() const = 0;
  /// Those of all atoms, [natoms] in the order of configuration().
  virtual std::vector<double> all_bars() = 0;
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

  // of an engine whose runs can go back to states of theirs; others have none
  /// The same on all ranks.
  virtual RunCondition condition() const { return {}; }
  /// The present step is one to go back to.
  virtual void trust() {}
  /// The next step begins from a trusted state: the latest of step `before` or earlier, or else the earliest one; later ones are
  /// forgotten. `number` of the return: no two of them go on alike. Returns the step of the state; nothing where there is none.
  virtual std::optional<std::int64_t> go_back(std::int64_t before, int number)
  {
    static_cast<void>(before), static_cast<void>(number);
    return std::nullopt;
  }
};

/// The model's energy (eV), and the sum of its features over all atoms. Collective over the ranks of the run.
double total_energy(const Communicator &comm, const Trajectory &run);
std::vector<double> total_features(const Communicator &comm, const Trajectory &run);
/// Whether two energies in eV are those of one configuration, but for the rounding of wrapped positions.
bool same_energy(double a, double b);

}  // namespace dptrain
