#include "dptrain/session/learning_options.h"

#include <cmath>
#include <string>

#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

// The number of an option; `allowed` says which ones it may be.
void at_least(const char *name, double value, double smallest, const std::string &allowed)
{
  if (!std::isfinite(value) || value < smallest)
    throw Error(formatted("%s %.6g is not possible: use ", name, value) + allowed);
}

}  // namespace

void check(const LearningOptions &o)
{
  const double unit = o.units.force();
  const char *const from_zero = "a number of 0 or more", *const from_one = "a number of 1 or more";
  at_least("every", static_cast<double>(o.every), 1, from_one);
  at_least("fmax", o.force_limit * unit, 0, "a positive force, or 0 for any");
  at_least("threshold", o.threshold * unit, 0, "a positive force, or 0 for one that is chosen");
  at_least("limit", o.limit * unit, 0, "a positive force, or 0 for three thresholds");
  if (o.limit > 0.0 && o.limit < o.threshold)
    throw Error(formatted("the limit %g is below the threshold %g: above the threshold the "
                          "reference is asked, above the limit the model does not move the atoms",
                          o.limit * unit, o.threshold * unit));
  at_least("rewind", o.rewind, 0, "a number of times, or 0 for none");
  at_least("audit", static_cast<double>(o.audit), 0, "a number of steps, or 0 for none");
  at_least("holdout", o.holdout, 0, "a number of labels, or 0 for none");
  at_least("duplicate", o.duplicate, 0, "a distance of 0 or more");
  at_least("train", o.train, 0, from_zero);
  at_least("warmup", o.warmup, 1, from_one);
  at_least("target", o.target * unit, 0, "a positive force, or 0 for none");
  at_least("train_seconds", o.train_seconds, 0, "a positive time, or 0 for any");
  at_least("batch", o.batch.value_or(1), 1, from_one);
  at_least("buffer", static_cast<double>(o.buffer), 0, "a number of frames, or 0 for all");
  if (!o.optimizer.empty()) optimizer_named(o.optimizer);
  const double ema = o.ema.value_or(0.0);
  if (!(ema >= 0.0 && ema < 1.0))
    throw Error(
        formatted("ema %.6g is not possible: use a number from 0 (no average) to below 1", ema));
  at_least("save_every", static_cast<double>(o.save_every), 0, from_zero);
  at_least("disp_every", static_cast<double>(o.disp_every.value_or(1)), 1, from_one);
}

}  // namespace dptrain
