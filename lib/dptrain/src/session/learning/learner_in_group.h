#pragma once

#include "session/learning/learner.h"

namespace dptrain {

/// A run that learns together with others: each judges the labels of all in the same order, and all do the same optimizer steps.
class LearnerInGroup : public Learner {
 public:
  LearnerInGroup(Parts parts, ReplicaGroup &group) : Learner(std::move(parts)), group_(group) {}

  Outcome judge_awaited(const LabelRequest &request, const Label &label) override;
  bool slice_is_due(bool has_model) override;
  bool learn_slice() override;
  void train_pending() override;
  void synchronize() override;
  double poll_interval() const override { return ReplicaGroup::poll_interval; }
  bool is_shared() const override { return true; }
  int run_index() const override { return group_.index(); }
  bool take_change() override { return std::exchange(changed_, false); }
  void save_before_error() override {}
  void end_run() override { help_others(false); }
  void leave_group() override { help_others(true); }

 private:
  ReplicaGroup::Offer offer();
  void help_others(bool leaves);

  ReplicaGroup &group_;
  bool waits_for_training_ = false, changed_ = false;
};

}  // namespace dptrain
