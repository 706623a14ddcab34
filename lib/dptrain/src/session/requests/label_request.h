#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/uncertainty/active_learning.h"

namespace dptrain {

/// A configuration with the reference, and what the model said of it then: all that is needed to judge the answer, whenever
/// it comes.
struct LabelRequest {
  // of those who ask
  Ask ask = Ask::no;      ///< why
  bool has_bars = false;  ///< the model has error bars, or distances that will become such
  double expected = 0.0;  ///< largest bar of an atom, eV/Angstrom; 0: bars are not calibrated
  // of the run at the time of the request
  std::int64_t id = 0;
  WholeFrame frame;        ///< its label: of a cut-out force_weight, which says whose forces count
  std::vector<int> atoms;  ///< of a cut-out: its atoms in the configuration of the run; else empty
  double energy = 0.0;     ///< of the model in the run, eV
  std::vector<double> force;        ///< of the model in the run, [natoms][3] eV/Angstrom
  std::vector<double> feature_sum;  ///< of the atoms that count, [ntypes][H]
  std::vector<double> distance;     ///< of the atoms' features, [natoms]
  std::vector<double> bar;          ///< eV/Angstrom, [natoms]; empty: not calibrated

  /// Atoms whose forces count.
  std::int64_t natoms() const;
  bool is_cutout() const { return !atoms.empty(); }
  /// Sets distance and bar by ForwardOutput::bar of the frame's atoms.
  void set_bars(std::vector<double> values, const ErrorBars &bars);
  /// The largest bar of an atom whose force counts, by other bars than those of the time of the request.
  double largest_bar(const ErrorBars &bars) const;
  /// What can be learned of an answer: energy and virial of a cut-out are those of a surface, and its label has weights.
  Label learnable(Label answer) const;

  /// What is wrong with fields that were read; empty: nothing.
  std::string damage() const;
};
DPTRAIN_FIELDS(LabelRequest, ask, has_bars, expected, id, frame, atoms, energy, force, feature_sum,
               distance, bar)

/// Errors of forces [natoms][3] against a label: largest and root mean square, and the size of the label's forces. Of atoms whose
/// forces count, with their weights.
struct ForceErrors {
  double max = 0.0, rms = 0.0, label_rms = 0.0;  ///< eV/Angstrom
};
DPTRAIN_FIELDS(ForceErrors, max, rms, label_rms)
ForceErrors force_errors(const std::vector<double> &force, const Label &label);

/// The same atom by atom, for those whose forces count.
AtomErrors atom_errors(const LabelRequest &request, const Label &label);

/// The forces [n][3] of the request's atoms among those of the configuration that it is about, [natoms][3].
std::vector<double> forces_on(const LabelRequest &request, const std::vector<double> &force);

}  // namespace dptrain
