#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/labels/label_source.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/session/trajectory.h"
#include "dptrain/uncertainty/active_learning.h"
#include "session/session_state.h"

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
  WholeFrame frame;        ///< of a cut-out: label.force_weight says whose forces count
  std::vector<int> atoms;  ///< of a cut-out: its atoms in the configuration of the run; else empty
  double energy = 0.0;     ///< of the model in the run, eV
  std::vector<double> force;        ///< of the model in the run, [natoms][3] eV/Angstrom
  std::vector<double> feature_sum;  ///< of the atoms that count, [ntypes][H]

  /// Atoms whose forces count.
  std::int64_t natoms() const;
  bool is_cutout() const { return !atoms.empty(); }
  /// What can be learned of an answer: energy and virial of a cut-out are those of a surface, and its label has weights.
  Label learnable(Label answer) const;
};

/// Errors of forces [natoms][3] against a label: largest and root mean square, and the size of the label's forces. Of atoms whose
/// forces count, with their weights.
struct ForceErrors {
  double max = 0.0, rms = 0.0, label_rms = 0.0;  ///< eV/Angstrom
};
ForceErrors force_errors(const std::vector<double> &force, const Label &label);

/// The forces [n][3] of the request's atoms among those of the configuration that it is about, [natoms][3].
std::vector<double> forces_on(const LabelRequest &request, const std::vector<double> &force);

/// Whether two energies in eV are those of one configuration, but for the rounding of wrapped positions.
bool same_energy(double a, double b);

/// Asks the source of labels and judges its answers. Collective.
class ReferenceDesk {
 public:
  ReferenceDesk(std::shared_ptr<const Communicator> comm, LabelSource &source,
                const LearningOptions &options, const Messages &messages,
                SessionCounters &counters);

  /// Hands over a configuration that the request has, with all that will be needed to judge the answer.
  void submit(LabelRequest &request);
  /// Hands over the present configuration; what the model says of it goes along where there is a reason to ask.
  void submit(Trajectory &run, LabelRequest &request);
  /// Waits for the answer to a request. Nothing where there is no usable label: one that is not finite, or a failure, which is
  /// told. Throws Error where the run cannot go on without it.
  std::optional<Label> await(const LabelRequest &request);
  /// Whether a label is small enough to be learned from; tells if it is not.
  bool within_limit(const LabelRequest &request, const Label &label);
  /// Whether this label was stored before: the first step of a run is the last one of the run before.
  bool is_stored(const LabelRequest &request, const Label &label) const;

 private:
  void discard(std::int64_t step, const std::string &why);

  std::shared_ptr<const Communicator> comm_;
  LabelSource &source_;
  const LearningOptions &options_;
  Messages messages_;
  SessionCounters &counters_;
  std::map<std::int64_t, LabelAnswer> arrived_;  // answers that nobody has awaited yet
};

}  // namespace dptrain
