#pragma once

#include "session/learning/learner.h"

namespace dptrain {

/// A run that learns for itself.
class LearnerAlone : public Learner {
 public:
  using Learner::Learner;

  Outcome judge_awaited(const LabelRequest &request, const Label &label) override;
  void take_answers() override;
  bool slice_is_due(bool has_model) override;
  bool learn_slice() override;
  void train_pending() override { learn(); }
  double poll_interval() const override { return 60.0; }  // for a look at the log
  bool is_shared() const override { return false; }
  void save_before_error() override { training_.save(); }
  void end_run() override { learn(); }  // also those of a minimization
};

}  // namespace dptrain
