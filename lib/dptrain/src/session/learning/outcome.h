#pragma once

namespace dptrain {

/// What became of an answer of the reference. Errors in eV/Angstrom.
struct Outcome {
  double max_error =
      0.0;  ///< of the model before it has learned: largest length of an atom's force error
  double rms_error = 0.0;      ///< and root mean square of the components
  double learned_error = 0.0;  ///< largest one after the training
  bool is_late = false;        ///< the run has gone on meanwhile
  bool is_doubted = false;     ///< contradicts other labels: no judge of the model
  enum class Fate { learned, held_out, duplicate, not_used } fate = Fate::not_used;
  bool reference_moves = true;
  bool stored() const { return fate == Fate::learned || fate == Fate::held_out; }
};

}  // namespace dptrain
