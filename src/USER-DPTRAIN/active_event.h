#pragma once

#include "dptrain/uncertainty/active_learning.h"

namespace LAMMPS_NS {

/// What happens at a step at which the reference is asked in mode active, for the log. Errors are lengths of an atom's
/// force error in eV/Angstrom.
struct ActiveEvent {
  dptrain::Ask ask = dptrain::Ask::no;
  double expected = 0.0;           ///< largest one, from the uncertainty
  bool compared = false;           ///< there was a model
  dptrain::Comparison comparison;  ///< of the model before it has learned from the label
  double label_rms = 0.0;          ///< of the label's force components, eV/Angstrom
  enum class Fate { learned, held_out, duplicate, not_used } fate = Fate::not_used;
  double learned_error = 0.0;  ///< largest one, after the training
  bool reference_moves = true;
};

}  // namespace LAMMPS_NS
