#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/base/state.h"
#include "dptrain/frames/frame.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/update_report.h"

namespace dptrain {

/// Trains a model on a growing set of labeled frames. All functions are collective over the communicator.
///
/// The optimizer's step is not guarded: an exception from it (no memory, a matrix decomposition that fails) may come from
/// one rank alone, while the others wait for it. The trainer and its model must not be used after it: end the run.
class Trainer {
 public:
  Trainer(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
          const TrainingConfig &config);
  ~Trainer();

  /// Adds this rank's share of a labeled frame to the replay buffer, and returns its place there. Throws on all ranks if a label or position is not
  /// finite, atoms overlap, or the ranks do not hold the same labels.
  std::int64_t add(Frame frame);
  /// What add() does before it keeps a frame, for frames that the caller holds: the checks, Frame::type_counts where they
  /// are missing, and the shortest distance is made known to the model.
  void check(Frame &frame);
  std::int64_t num_frames() const;
  const Frame &frame(std::int64_t index) const;

  /// Calls `work` with each of these frames, which have their neighbor rows then; what it throws is an Error of all ranks.
  void visit(const std::vector<std::int64_t> &frames,
             const std::function<void(const Frame &)> &work);

  /// Refits the energy bias to all frames, see EnergyBiasFit. Done once before the first step that has an energy label.
  void fit_energy_bias();
  bool energy_bias_is_fitted() const;
  /// One optimizer step from the raw parameters: batch -> pass A -> residuals -> halo -> pass B -> each rank gets the sum
  /// of its part of the gradient and changes its part of the parameters -> all ranks get all. Throws on all ranks and
  /// leaves the parameters as they are if there is no frame or the loss or its gradient is not finite. After an
  /// exception of the optimizer's step the trainer must not be used any more, see above.
  UpdateReport update();
  /// The same step from frames that the caller holds (a data set), each with its neighbor rows; the replay buffer is not
  /// used, and no energy bias is fitted.
  ///
  /// With `acc_freq` > 1 the parameters change at every acc_freq-th call of update() only, by the sum of the gradients
  /// since the change before; every call counts as a step of the schedule. A gradient that is longer than
  /// gradient_max_norm is then shortened to it.
  UpdateReport update(const std::vector<const Frame *> &frames);
  /// Loss and errors over frames that the caller holds with the parameters that are in the model and the prefactors of the
  /// last step (validation). What is not finite is reported as it is.
  UpdateReport errors(const std::vector<const Frame *> &frames);
  /// The same for frames of the replay buffer.
  UpdateReport stored_errors(const std::vector<std::int64_t> &frames);
  /// Loss and its gradient over given frames with the parameters that are in the model, no step taken:
  /// gradient[number of parameters] is reduced over the ranks.
  UpdateReport loss_gradient(const std::vector<std::int64_t> &frames,
                             std::vector<double> &gradient);

  /// The average (ema_decay) begins with the present parameters, as in DeePMD-kit, after t steps
  /// d^t w_0 + sum_k d^(t-k) (1-d) w_k.  Without this call it begins with those after the first step, and has the bias
  /// correction of its start.  Nothing happens where no average is kept, or where there is one already.
  void begin_average();

  /// Puts the average of the parameters over the steps (ema_decay) into the model, so that MD runs with it. The raw ones
  /// are kept aside, and the next update() continues with them. Nothing happens where no average is kept, or before the
  /// first step.
  void show_average();
  /// The same for other parameters of the same number.
  void show(const std::vector<double> &parameters);
  /// The parameters that the optimizer works on, whichever are in the model. Not collective.
  const std::vector<double> &raw_parameters() const;
  /// Those that a model file has in place of the raw ones: what is shown, else the average; empty where none is kept, or
  /// before the first step.
  std::vector<double> potential_parameters() const;

  std::int64_t steps() const;
  /// All that a continued training needs but frames and parameters: of the optimizer, of the order of the frames, of the
  /// average, ... The same on all ranks, and of the same form for any number of them. Collective.
  State state() const;
  /// Continues from a state; the model must hold the raw parameters of that time. Throws Error if it is one of another
  /// model or optimizer, or damaged.
  void set_state(const State &state);
  const TrainingConfig &config() const;
  /// Why stored frames could not wait on this rank's scratch disk; empty if they could.
  const std::string &scratch_trouble() const;
  /// Of this rank: frames, neighbor rows, halo, residuals, optimizer, average, gradient.
  MemoryLedger memory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain
