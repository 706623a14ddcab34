#pragma once

#include <memory>
#include <optional>

#include "session/active_log.h"
#include "session/energy_jumps.h"
#include "session/online_training.h"
#include "session/reference_desk.h"
#include "session/self_healing.h"
#include "session/threshold_watch.h"

namespace dptrain {

/// The run goes on with the model, and the reference is asked where the uncertainty says so. All decisions to ask, to store
/// and to move on are made here, by ActiveLearning's numbers.
class ActiveMode {
 public:
  /// `desk`: null where configurations are selected, and nobody is asked.
  ActiveMode(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelSlot> slot,
             OnlineTraining &training, ReferenceDesk *desk, const LearningOptions &options,
             const Messages &messages);

  void begin_run(std::int64_t step);
  void step(Trajectory &run);
  /// See LearningSession::rescue.
  void rescue(Trajectory &run, const std::string &why);
  void minimization_step(Trajectory &run);
  void selection_step(Trajectory &run);
  void end_run(std::int64_t step, const std::string &name);

  const ActiveLearning &learning() const { return learning_; }
  double expected_error() const { return expected_error_; }  ///< of the present step, eV/Angstrom
  bool model_moves() const { return model_moves_; }          ///< at the present step
  double held_out_error() const { return held_out_error_; }  ///< rmse of the forces, eV/Angstrom
  double found_error() const { return found_error_; }        ///< largest, at the latest answer
  double jumps() const { return jumps_.sum(); }              ///< eV
  int rewinds() const { return healing_.done(); }
  /// See UncertaintyMonitor::distance.
  double distance(const Trajectory &run) const;

 private:
  // what is known of the present step
  LabelRequest look(const Trajectory &run);
  bool continues_from_answer(const Trajectory &run) const;
  bool is_due(const LabelRequest &request) const;
  void decide(LabelRequest &request, bool due);
  void ask(Trajectory &run, LabelRequest &request);
  std::optional<Label> answer_to(Trajectory &run, LabelRequest &request);
  // what follows from an answer
  Outcome judge(LabelRequest &request, const Label &label);
  bool is_held_out(const LabelRequest &request) const;
  void learn_from_labels();
  void refresh_scores();
  void move_on(Trajectory &run, const LabelRequest &request, const Label &label, Outcome &outcome);
  void keep_scale(const Trajectory &run, const LabelRequest &request);
  void heal(Trajectory &run);
  void note_answer(const Trajectory &run, const LabelRequest &request, const Label &label);
  // messages
  void watch_threshold(Ask ask);
  void watch_distance(double distance);
  void warn_of_poor_model() const;
  [[noreturn]] void stop_above_limit(const LabelRequest &request);
  double largest_score(const Trajectory &run);
  double model_energy(const Trajectory &run) const;

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<ModelSlot> slot_;
  OnlineTraining &training_;
  ReferenceDesk *desk_;
  const LearningOptions &options_;
  Messages messages_;
  ActiveLearning learning_;
  ActiveLog log_;
  EnergyJumps jumps_;  // eV
  ThresholdWatch threshold_watch_;
  SelfHealing healing_;
  double expected_error_ = 0.0, held_out_error_ = 0.0, found_error_ = 0.0;
  bool model_moves_ = false, run_open_ = false, close_atoms_warned_ = false;
  std::int64_t step_ = 0;
  std::int64_t looked_at_ = 0;  // configurations, where they are selected
};

}  // namespace dptrain
