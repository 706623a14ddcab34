#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/batch_source.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/trainer.h"
#include "training/early_stopping.h"

namespace dptrain {

/// Judges a training by its errors on frames that are not trained on: which average of the weights is the best one, and whether
/// there is any use in going on. Where no average is kept, or there are no such frames, it has no opinion. Collective.
class HeldOutJudge {
 public:
  using Load =
      std::function<std::vector<const Frame *>(BatchSource &, const std::vector<FrameId> &)>;
  /// `others`: the frames that are not trained on, or null.
  HeldOutJudge(Trainer &trainer, std::shared_ptr<Model> model, BatchSource &training,
               BatchSource *others, Load load);

  /// Whether a training with these settings ends before its last step where it has such frames: with an average, and a rate that
  /// stays. One that falls is to fall to its end.
  static bool may_end(const TrainingConfig &config);

  /// After a step: looks at the errors, if it is time to.
  void step();
  /// Whether the training should end.
  bool is_over() const { return ends_early_ && found_.is_over(); }
  /// Puts the best weights into the model, and returns lines that tell how good they are; none if it has no opinion.
  std::vector<std::string> keep_best();

  /// For checkpoints: what it has seen, as a longer training would have seen it.
  const EarlyStopping &found() const { return found_; }
  /// Nothing if it has no opinion now.
  void go_on_from(EarlyStopping found)
  {
    if (between_ > 0) found_ = std::move(found);
  }

 private:
  void choose_term();
  double error_on(BatchSource &source);

  Trainer &trainer_;
  std::shared_ptr<Model> model_;
  BatchSource &training_, *others_;
  Load load_;
  bool ends_early_ = false;
  std::int64_t between_ = 0;  // steps from one look to the next; 0: never
  std::string
      term_;  // f: of forces, eV/Angstrom, or e: of energies, eV per atom; empty: not chosen yet
  EarlyStopping found_;
  std::optional<EarlyStopping>
      at_end_;  // with a look after the last step, where it was not time to
};

}  // namespace dptrain
