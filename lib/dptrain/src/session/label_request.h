#pragma once

#include <cstdint>
#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/uncertainty/active_learning.h"

namespace dptrain {

/// A configuration with the reference, and what the model said of it then: all that is needed to judge the answer, whenever
/// it comes.
struct LabelRequest {
  // of those who ask
  Ask ask = Ask::no;        ///< why
  bool has_scores = false;  ///< the model has uncertainties
  double score = 0.0;       ///< largest one of an atom, without unit
  double expected = 0.0;    ///< error that it stands for, eV/Angstrom
  // of the run at the time of the request
  std::int64_t id = 0;
  WholeFrame frame;                 ///< its label: what the source has prepared for the answer
  double energy = 0.0;              ///< of the model, eV
  std::vector<double> force;        ///< of the model, [natoms][3] eV/Angstrom
  std::vector<double> feature_sum;  ///< of all atoms, [ntypes][H]

  std::int64_t natoms() const { return static_cast<std::int64_t>(frame.type.size()); }

  /// All of it but the id, for files.
  State state() const;
  /// Throws Error if the state is not one of a request, or damaged.
  static LabelRequest from(const State &state);
};

}  // namespace dptrain
