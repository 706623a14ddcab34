#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/base/messages.h"
#include "dptrain/labels/label_source.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/session/replicas.h"
#include "dptrain/session/trajectory.h"
#include "dptrain/training/update_report.h"

namespace dptrain {

/// What a session has done so far, for those who show it. Energies in eV, errors of forces in eV/Angstrom, those of an
/// active session as the largest length of an atom's force error; times in seconds.
struct LearningReport {
  std::int64_t frames = 0, reference_calls = 0, discarded = 0;
  std::int64_t steps = 0;  ///< of the optimizer
  UpdateReport batch;      ///< of the latest optimizer step; step 0: there was none
  double train_seconds = 0.0, reference_seconds = 0.0;
  std::int64_t overflow = 0;   ///< atoms with more neighbors than the model keeps
  std::int64_t shortages = 0;  ///< how often memory has run out
  bool trained = false;        ///< a first training has ended
  // of an active session
  double expected_error = 0.0;  ///< at this step
  double threshold = 0.0;       ///< above which the reference is asked
  bool model_moves = false;     ///< at this step
  double held_out_error = 0.0;  ///< rms of the forces of held-out frames
  double found_error = 0.0;     ///< at the latest answer of the reference
  std::int64_t audits = 0, audits_above = 0;
  double energy_jumps = 0.0;   ///< sum of the jumps of the potential energy
  std::int64_t in_flight = 0;  ///< configurations with the reference while the run goes on
  int rewinds = 0;             ///< how often the run has gone back to a trusted state
};

/// The cutoff (Angstrom) of the checkpoint that the option `resume` names; nothing where there are frames without one.
/// Collective.
std::optional<double> resumed_cutoff(const Communicator &comm, const std::string &resume);

/// Learning beside a run: decides at each step whether the reference is asked, judges and stores its answers, trains the
/// model in the slot, which the run goes on with, and writes frames, checkpoints and models. It knows nothing of the engine
/// but the Trajectory. Everything is collective; failures are Errors on all ranks, after which nothing written is lost.
class LearningSession {
 public:
  /// `source` gives the labels, and must outlive the session; null where the options say that configurations are selected.
  /// `messages` are called on rank 0. No file is touched yet.
  ///
  /// `replicas`: runs that train one model together, each with a session, a trajectory and a source of its own. What one
  /// labels all learn, with all ranks. Collective functions are so over the ranks `comm` of a run; the constructor, start() and
  /// end_run() over all of them: a run that has ended helps the others until they have, too.
  LearningSession(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelInUse> slot,
                  const LearningOptions &options, const Messages &messages, LabelSource *source,
                  const Replicas &replicas = {});
  /// One of several runs helps the others until all of them have come here.
  ~LearningSession();
  /// Whether start() begins with a new model: there is none in the slot, and no checkpoint to resume from. Collective.
  bool begins_anew(const LearningSession *before = nullptr) const;
  /// To be called once, before all else but outputs(). With `before`, the frames of a session whose model was given again are
  /// taken over; else the options say whether a checkpoint is continued.
  void start(const LearningSession *before = nullptr);

  /// What is called after each optimizer step on every rank, as a place to end a long training: where it throws, what was
  /// learned until then is saved, and the exception passes on. To be set before start().
  void on_update(std::function<void()> work);
  /// Before the first step of a run; further calls before end_run() do nothing (a rerun sets up each configuration).
  void begin_run(std::int64_t step);
  /// One step of the run, after the engine has computed its forces.
  void step(Trajectory &run);
  /// The run cannot go on from the present step (atoms are lost, numbers are not finite): it goes back to a trusted state. Where it
  /// cannot do that, saves and throws Error.
  void rescue(Trajectory &run, const std::string &why);
  /// One step of a minimization: labels are stored, and learned from when it has ended, for its energy must not change.
  void minimization_step(Trajectory &run);
  /// After the last step: learns what is left, tells what the run has done, saves. `name` stands in the summary.
  void end_run(std::int64_t step, const std::string &name);
  /// The run has come to its end: with `explore`, and where it has asked the reference, short runs from its last configuration look for what
  /// the model does not know, and have it labeled and learned. To be called before end_run(). Collective.
  void explore(Trajectory &run);

  /// Writes model and checkpoint as they are, if there is something new and `save` of the options names them.
  void save();
  LearningReport report() const;
  /// Distance of the present configuration from those behind the error bars, see `duplicate` of the options.
  double distance(const Trajectory &run) const;
  /// Which of load() of the slot the session began with.
  int generation() const;
  /// Keyword and full path of the files that this session writes.
  std::vector<std::pair<std::string, std::string>> outputs() const;
  /// The memory of all ranks as a table.
  std::string memory_table() const;
  /// Bytes of the rank that has most at the latest label, for a purpose (see memory_table); nullptr: of model and training.
  double largest_memory(const char *purpose) const;
  /// Bytes of this rank, without the model.
  std::size_t memory_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain
