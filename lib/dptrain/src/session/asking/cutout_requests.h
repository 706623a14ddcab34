#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/session/trajectory.h"
#include "dptrain/uncertainty/active_learning.h"
#include "session/learning/bar_monitor.h"
#include "session/requests/cutout.h"
#include "session/requests/request_book.h"

namespace dptrain {

/// Makes requests for the surroundings of the worst atoms of a step, in place of the whole configuration. All functions are
/// collective.
class CutoutRequests {
 public:
  /// Throws Error where the model cannot do without a reference of the whole box: it must be trained, have
  /// error bars, and the energies of its atoms must depend on their neighbors alone.
  CutoutRequests(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelInUse> slot,
                 const LearningOptions &options, const Messages &messages);

  /// Those of a step: around the atom with the largest error bar, or a random one for an audit, and around others above the
  /// threshold. `step` says why the reference is asked, and has the model's energy. None where a cut-out would be the whole
  /// configuration, which is told once.
  std::vector<LabelRequest> at(Trajectory &run, const LabelRequest &step,
                               const ActiveLearning &learning, const BarMonitor &monitor);
  /// Whether it would have been, at the latest step.
  bool is_whole() const { return is_whole_; }
  /// How many there were, and of how many atoms, since the last call; empty without any.
  std::string take_summary();

 private:
  int first_center(const LabelRequest &step, const WholeFrame &whole,
                   const std::vector<double> &bars) const;
  int atom_of_closest_pair(const WholeFrame &whole) const;
  LabelRequest request_for(Cutout cutout, const LabelRequest &step, const std::vector<double> &bars,
                           const std::vector<double> &force, const BarMonitor &monitor) const;
  void count(const LabelRequest &request);

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<ModelInUse> slot_;
  Messages messages_;
  CutoutShape shape_;
  int most_;
  std::uint64_t seed_;
  bool is_whole_ = false, told_ = false;
  std::int64_t cutouts_ = 0, fewest_ = 0, largest_ = 0, atoms_ = 0, core_atoms_ = 0;
};

}  // namespace dptrain
