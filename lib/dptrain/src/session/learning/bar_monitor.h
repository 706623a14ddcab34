#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dptrain/models/model_in_use.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/training/trainer.h"
#include "dptrain/uncertainty/active_learning.h"

namespace dptrain {

/// Keeps the distances and error bars of a model those of its present parameters and of the frames that it is trained on, and knows
/// which configurations are among them. Collective.
class BarMonitor {
 public:
  BarMonitor(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelInUse> slot);

  /// The bars from now on are those of other parameters or frames than the model has.
  void mark_stale() { current_ = false; }
  /// Makes them those of the present ones, if they are not. `wants_learned`: learned() is wanted too.
  void refresh(Trainer &trainer, bool wants_learned);
  /// Of the stored frames, with the present error bars; all 0 where there is none.
  LearnedFrames learned() const;
  /// Gives the model error bars that were measured on answers. What it knows: the stored frames, and those that were asked about
  /// before they were learned.
  void set_bars(ErrorBars bars) const;

  /// Distance of a configuration with these features of its atoms (summed over all ranks) from the nearest one behind the
  /// error bars that has as many atoms (of cut-outs: whose forces count): 0 for the same, about 1 for an independent one of the same kind; infinite if there
  /// is none.
  double distance(const std::vector<double> &feature_sum, std::int64_t natoms) const;
  /// The same between two configurations of as many atoms.
  double distance(const std::vector<double> &a, const std::vector<double> &b,
                  std::int64_t natoms) const;
  /// Sum of the model's features over the atoms of a frame whose forces count, [ntypes][H]. Collective over the ranks that share
  /// the frame.
  std::vector<double> feature_sum(const Communicator &comm, const Frame &share) const;
  /// Configurations like this one are known from now on, until the next refresh().
  void remember(std::vector<double> feature_sum, std::int64_t natoms);
  /// Puts a configuration (this rank's share) behind the error bars, without training, and remembers it.
  void add(const Frame &share);

  /// The metric that came with a given model: its frames stand for those that are missing here. Empty:
  /// there are none.
  FeatureMetric given_metric;

 private:
  void look_at_learned(Trainer &trainer);

  struct Seen {
    std::vector<double> feature_sum;
    std::int64_t natoms;
  };
  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<ModelInUse> slot_;
  bool current_ = false;
  std::vector<Seen> seen_;                 // frames behind the error bars
  LearnedFrames learned_;                  // but the bar
  std::vector<double> learned_distances_;  // [frames][ntypes] the largest of an atom
  double known_atom_ = 0.0, known_frame_ = 0.0;
};

}  // namespace dptrain
