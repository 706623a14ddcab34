#include "commands/held_out_judge.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "commands/spread_frames.h"
#include "training/schedule.h"

namespace dptrain {

namespace {

constexpr std::int64_t judged_frames = 100;  // enough to say how large errors are
// a step costs three times an evaluation of its frames, so a look at the errors is some 3 % of the steps before it
constexpr std::int64_t fewest_steps = 100, batches_of_a_look = 10;
constexpr double overfitted = 3.0;  // errors on other frames over those on training frames

}  // namespace

HeldOutJudge::HeldOutJudge(Trainer &trainer, std::shared_ptr<Model> model, BatchSource &training,
                           BatchSource *others, Load load) :
    trainer_(trainer),
    model_(std::move(model)),
    training_(training),
    others_(others),
    load_(std::move(load))
{
  const TrainingConfig &config = trainer.config();
  if (!others || config.ema_decay == 0.0) return;
  const std::int64_t frames = std::min(num_frames(others->systems), judged_frames);
  between_ = std::max(fewest_steps, batches_of_a_look * frames / training.plan.frames_of_a_batch());
  ends_early_ = may_end(config);
}

bool HeldOutJudge::may_end(const TrainingConfig &config)
{
  return config.ema_decay > 0.0 && Schedule(config.schedule, config.numb_steps).stays_constant();
}

void HeldOutJudge::step()
{
  if (between_ == 0) return;
  const std::int64_t step = trainer_.steps();
  const bool is_due = step % between_ == 0;
  if (!is_due && step != trainer_.config().numb_steps) return;
  trainer_.show_average();
  if (!is_due) at_end_ = found_;
  EarlyStopping &found = is_due ? found_ : *at_end_;
  choose_term();
  found.add(step, error_on(*others_), model_->parameters().values());
}

// Forces, unless they are not learned, or no frame has any.
void HeldOutJudge::choose_term()
{
  if (!term_.empty()) return;
  term_ = "f";
  if (!trainer_.config().loss.prefactor("f").is_on() || std::isnan(error_on(*others_))) term_ = "e";
}

/// Root mean square over some of the frames, the same on all ranks; NaN where none has the label.
double HeldOutJudge::error_on(BatchSource &source)
{
  const std::vector<FrameId> ids = spread_frames(source.systems, judged_frames);
  const std::size_t batch = training_.plan.frames_of_a_batch();
  double squares = 0.0, weights = 0.0;
  for (std::size_t begin = 0; begin < ids.size(); begin += batch) {
    const std::vector<FrameId> some(ids.begin() + begin,
                                    ids.begin() + std::min(begin + batch, ids.size()));
    double atoms = 0.0;
    for (const FrameId &id : some)
      atoms += static_cast<double>(source.systems[id.system]->natoms(id.frame));
    const std::vector<const Frame *> frames = load_(source, some);
    if (frames.empty()) continue;
    const double error = trainer_.errors(frames).rmse(term_);
    if (std::isnan(error)) continue;
    squares += error * error * atoms;
    weights += atoms;
  }
  return std::sqrt(squares / weights);
}

std::vector<std::string> HeldOutJudge::keep_best()
{
  const EarlyStopping &found = at_end_ ? *at_end_ : found_;
  if (found.empty()) return {};
  choose_term();  // where a training that went on has not looked yet
  trainer_.show(found.best_weights());
  const double learned = error_on(training_);
  std::vector<std::string> lines{
      fmt::format("error on frames that are not trained on: {:.3g}, on training frames {:.3g} (rms "
                  "of {}), with "
                  "the average weights of step {}, which are kept{}",
                  found.best_error(), learned,
                  term_ == "f" ? "forces, eV/Angstrom" : "energies, eV per atom", found.best_step(),
                  found.last_error() > found.best_error()
                      ? fmt::format("; {:.3g} at the end", found.last_error())
                      : std::string())};
  if (found.best_error() > overfitted * learned)
    lines.push_back(fmt::format(
        "WARNING: errors on frames that are not trained on are {:.2g} times those on training "
        "frames: the potential overfits. Add frames of other configurations; more steps do not "
        "help",
        found.best_error() / learned));
  return lines;
}

}  // namespace dptrain
