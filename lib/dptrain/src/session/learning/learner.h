#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "session/learning/online_training.h"
#include "session/learning/outcome.h"
#include "session/learning/replica_group.h"
#include "session/learning/training_pace.h"
#include "session/recovery/self_healing.h"
#include "session/requests/request_book.h"

namespace dptrain {

/// Judges the labels that come to an active session and learns from them: at once, while the run waits, or in slices beside a run
/// that goes on. How a run does that alone, and how several runs do it together, are two classes: make_learner().
class Learner {
 public:
  /// What is done with an answer to a request that the run has left.
  using OnLateAnswer = std::function<void(const LabelRequest &, const Outcome &)>;

  /// What a learner works with.
  struct Parts {
    std::shared_ptr<const Communicator> run;  ///< the ranks of this run
    std::shared_ptr<ModelInUse> slot;
    OnlineTraining &training;
    RequestBook *book;     ///< null where configurations are selected
    SelfHealing &healing;  ///< gets the errors that labels of this run show
    const LearningOptions &options;
    OnLateAnswer on_late_answer;
  };
  explicit Learner(Parts parts);
  virtual ~Learner() = default;
  Learner(const Learner &) = delete;
  Learner &operator=(const Learner &) = delete;

  ActiveLearning &decisions() { return decisions_; }
  const ActiveLearning &decisions() const { return decisions_; }
  /// See ActiveLearning::rescale.
  void rescale(double factor)
  {
    decisions_.rescale(factor);
    set_bars();
  }
  const HeldOutError &held_out() const { return held_out_; }
  double found_error() const { return found_error_; }           ///< largest, at the latest answer
  void set_found_error(double error) { found_error_ = error; }  ///< of several answers at once

  /// Compares the model with the label that the run has waited for, and stores it unless it tells nothing new. Runs that learn
  /// together have also learned it.
  virtual Outcome judge_awaited(const LabelRequest &request, const Label &label) = 0;
  /// Whether the run may leave another request. Not while a label is being learned: the error bars are those of other
  /// parameters then, and far too large.
  bool has_room() const;
  /// Whether a configuration is like one that the run has left.
  bool resembles_left(const LabelRequest &request) const;
  /// Takes the answers that have come to such requests, and judges them; runs that learn together do so when they synchronize.
  virtual void take_answers();
  /// Waits until one of them has come.
  void wait_for_answer();
  /// Whether learn_slice() is to be called at this step. `has_model`: a model moves the atoms. Collective over the ranks of the
  /// run.
  virtual bool slice_is_due(bool has_model) = 0;
  /// A slice of the training, such that it takes its share of the time, or all of it where a run waits for it. Returns whether
  /// the model has changed. Runs that learn together do it together.
  virtual bool learn_slice() = 0;
  /// Does all optimizer steps that labels have earned.
  virtual void train_pending() = 0;
  bool owes_training() const { return training_.owes_steps(); }

  /// To be called while the run waits: learns together with the others, if there are any.
  virtual void synchronize() {}
  /// Seconds after which a run that waits is to call it again.
  virtual double poll_interval() const = 0;
  /// Whether several runs learn together.
  virtual bool is_shared() const = 0;
  virtual int run_index() const { return 0; }  ///< among those who do
  /// Whether the model has changed while the run waited, since the last call.
  virtual bool take_change() { return false; }
  /// Writes model and checkpoint before an error of this run alone; the others do not know of it.
  virtual void save_before_error() = 0;
  /// The end of the run: all is learned. Runs that learn together help the others until all have come to their end.
  virtual void end_run() = 0;
  /// This run will never go on: helps the others to learn until none of them will.
  virtual void leave_group() {}

 protected:
  void queue(AnsweredRequest answer);
  void judge_all(std::vector<AnsweredRequest> answers);
  void judge_queued() { judge_all(std::exchange(queued_, {})); }
  void learn();
  void train_for(double seconds);
  double pace() { return pace_.due(TrainingPace::Clock::now()); }
  const std::shared_ptr<const Communicator> &run() const { return run_; }

  OnlineTraining &training_;
  RequestBook *book_;
  const LearningOptions &options_;
  std::vector<AnsweredRequest> queued_;  // answers that have not been judged yet
  std::optional<std::int64_t> awaited_;  // the request whose label this run waits to learn
  std::optional<Outcome> awaited_outcome_;

 private:
  bool is_held_out(const LabelRequest &request) const;
  Outcome judge(AnsweredRequest &answer);
  void finish();
  void refresh_bars();
  void set_bars();

  std::shared_ptr<const Communicator> run_;
  std::shared_ptr<ModelInUse> slot_;
  SelfHealing &healing_;
  OnLateAnswer on_late_answer_;
  ActiveLearning decisions_;
  TrainingPace pace_;
  HeldOutError held_out_;
  double found_error_ = 0.0;
};

/// `group`: the runs that learn together; null: this one alone.
std::unique_ptr<Learner> make_learner(Learner::Parts parts, ReplicaGroup *group);

}  // namespace dptrain
