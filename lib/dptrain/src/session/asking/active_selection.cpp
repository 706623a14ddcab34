// Mode active with `reference run`: configurations are selected, and nobody is asked.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"

#include "dptrain/base/error.h"
#include "session/asking/active_mode.h"
#include <fmt/format.h>

namespace dptrain {

// What errors are relative to where the model does not tell which forces it has learned.
static double rms_force(const std::vector<double> &force)
{
  double squares = 0.0;
  for (const double component : force) squares += component * component;
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(force.size(), 1)));
}

void ActiveMode::selection_step(Trajectory &run)
{
  if (run.step() % options_.every != 0) return;
  if (!run.has_bars() || !slot_->has_calibrated_bars())
    throw Error(fmt::format(
        "'mode active' with 'reference run' needs a model with calibrated error bars, such as "
        "'save' of a run with 'mode active' or dptrain train writes it: {} has none",
        slot_->path()));
  ++looked_at_;
  latest_ = look(run);
  if (!(decisions_.learned().force > 0.0)) {
    // a mean over the latest ones, in which one that is torn apart does not count more than twice
    const double force = rms_force(run.forces()),
                 before = looked_at_ == 1 ? force : decisions_.force();
    decisions_.set_force(0.9 * before + 0.1 * std::min(force, 2.0 * before));
  }
  const double expected = expected_error();
  if (!(expected > decisions_.threshold()) ||
      (options_.duplicate > 0.0 && distance(run) < options_.duplicate))
    return;
  WholeFrame frame = run.configuration();
  training_.select(frame, fmt::format("expected_error={:.6g}", expected));
  messages_.table(fmt::format(
      "dptrain {:10} selected, largest error bar {:.4g}, {} of {} configurations", run.step(),
      expected * options_.units.force(), training_.counters().frames.stored, looked_at_));
}

}  // namespace dptrain
