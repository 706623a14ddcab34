#include "commands/held_out_judge.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
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
  ends_early_ = Schedule(config.schedule, config.numb_steps).stays_constant();
}

void HeldOutJudge::step()
{
  const std::int64_t step = trainer_.steps();
  if (between_ == 0 || (step % between_ != 0 && step != trainer_.config().numb_steps)) return;
  trainer_.show_average();
  found_.add(step, errors_on(*others_).value, model_->parameters().values());
}

HeldOutJudge::Errors HeldOutJudge::errors_on(BatchSource &source)
{
  const std::vector<FrameId> ids = spread_frames(source.systems, judged_frames);
  const std::size_t batch = training_.plan.frames_of_a_batch();
  std::map<std::string, std::pair<double, double>> sums;  // of squares, and of atoms
  for (std::size_t begin = 0; begin < ids.size(); begin += batch) {
    const std::vector<FrameId> some(ids.begin() + begin,
                                    ids.begin() + std::min(begin + batch, ids.size()));
    double atoms = 0.0;
    for (const FrameId &id : some)
      atoms += static_cast<double>(source.systems[id.system]->natoms(id.frame));
    const std::vector<const Frame *> frames = load_(source, some);
    if (frames.empty()) continue;
    for (const TermErrors &errors : trainer_.errors(frames).terms)
      if (!std::isnan(errors.rmse)) {
        sums[errors.term].first += errors.rmse * errors.rmse * atoms;
        sums[errors.term].second += atoms;
      }
  }
  const bool of_forces = sums.count("f") > 0;
  const auto &[squares, atoms] = sums[of_forces ? "f" : "e"];
  return {std::sqrt(squares / atoms), of_forces};
}

std::vector<std::string> HeldOutJudge::keep_best()
{
  if (found_.empty()) return {};
  trainer_.show(found_.best_weights());
  const auto [learned, of_forces] = errors_on(training_);
  std::vector<std::string> lines{
      fmt::format("error on frames that are not trained on: {:.3g}, on training frames {:.3g} (rms "
                  "of {}), with "
                  "the average weights of step {}, which are kept{}",
                  found_.best_error(), learned,
                  of_forces ? "forces, eV/Angstrom" : "energies, eV per atom", found_.best_step(),
                  found_.last_error() > found_.best_error()
                      ? fmt::format("; {:.3g} at the end", found_.last_error())
                      : std::string())};
  if (found_.best_error() > overfitted * learned)
    lines.push_back(fmt::format(
        "WARNING: errors on frames that are not trained on are {:.2g} times those on training "
        "frames: the potential overfits. Add frames of other configurations; more steps do not "
        "help",
        found_.best_error() / learned));
  return lines;
}

}  // namespace dptrain
