#include "dptrain/session/learning_options.h"

#include <cmath>
#include <fmt/format.h>
#include <string>

#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

// The number of an option; `allowed` says which ones it may be.
void at_least(const char *name, double value, double smallest, const std::string &allowed)
{
  if (!std::isfinite(value) || value < smallest)
    throw Error(fmt::format("{} {:.6g} is not possible: use {}", name, value, allowed));
}

}  // namespace

void check(const LearningOptions &o)
{
  const double unit = o.units.force();
  const char *const from_zero = "a number of 0 or more", *const from_one = "a number of 1 or more";
  at_least("every", static_cast<double>(o.every), 1, from_one);
  at_least("fmax", o.force_limit * unit, 0, "a positive force, or 0 for any");
  at_least("threshold", o.threshold * unit, 0, "a positive force, or 0 for one that is chosen");
  at_least("limit", o.limit * unit, 0, "a positive force, or 0 for a multiple of the threshold");
  if (o.limit > 0.0 && o.limit < o.threshold)
    throw Error(fmt::format(
        "the limit {:g} is below the threshold {:g}: above the threshold the reference is asked, "
        "above the limit the model does not move the atoms; give a larger limit",
        o.limit * unit, o.threshold * unit));
  at_least("rewind", o.rewind, 0, "a number of times, or 0 for none");
  at_least("audit", static_cast<double>(o.audit), 0, "a number of steps, or 0 for none");
  at_least("holdout", o.holdout, 0, "a number of labels, or 0 for none");
  at_least("duplicate", o.duplicate, 0, "a distance of 0 or more");
  at_least("asynchronous", o.asynchronous, 0, "a number of configurations, or 0 for none");
  if (!(o.train_share > 0.0 && o.train_share <= 1.0))
    throw Error(fmt::format("train_share {:.6g} is not possible: use a part of the time, above 0 "
                            "and up to 1 (then the run waits until a label is learned)",
                            o.train_share));
  if (o.asynchronous > 0 && (!o.active || o.selects))
    throw Error("asynchronous needs mode active and a reference: labels may come later where the "
                "uncertainty of the model asks for them");
  if (o.asynchronous > 0 && o.follow_reference)
    throw Error("asynchronous: the run goes on with the model while the reference computes, and "
                "cannot follow the reference: remove one of the two");
  at_least("prepare", o.prepare.copies, 0, "a number of configurations, or 0 for none");
  constexpr double farthest = 1.0;  // Angstrom
  const double displace = o.prepare.displace.value_or(farthest);
  if (!(displace >= 0.0 && displace <= farthest))
    throw Error(
        fmt::format("prepare ... displace {:.6g} is not possible: use a distance from 0 to {:.6g}",
                    displace * o.units.length, farthest * o.units.length));
  constexpr double largest = 0.05;  // the empty space at open boundaries has no more to spare
  if (!(o.prepare.strain >= 0.0 && o.prepare.strain <= largest))
    throw Error(fmt::format(
        "prepare ... strain {:.6g} is not possible: use a part of a length, from 0 to {:.6g}",
        o.prepare.strain, largest));
  if (o.prepare.copies > 0 && displace == 0.0 && o.prepare.strain == 0.0)
    throw Error("prepare ... displace 0 without a strain would make copies that are all the same: "
                "use a distance, such as 0.05 Angstrom");
  if (o.prepare.copies > 0 && (!o.active || o.selects))
    throw Error(
        "prepare needs mode active and a reference: it labels configurations before the run");
  if (o.prepare.copies > 0 && o.cutout.radius > 0.0)
    throw Error("prepare and cutout contradict each other: the reference would get the whole box; "
                "remove one of the two, and prepare a model in a small box first");
  at_least("cutout", o.cutout.radius * o.units.length, 0, "a positive distance");
  at_least("cutout ... core", o.cutout.core * o.units.length, 0, "a positive distance");
  at_least("cutout ... vacuum", o.cutout.vacuum * o.units.length, 0, "a positive distance");
  at_least("cutout ... most", o.cutout.most, 1, from_one);
  if (o.cutout.radius > 0.0 && (!o.active || o.selects))
    throw Error("cutout needs mode active and a reference: the uncertainties say what is cut out");
  if (o.cutout.radius > 0.0 && o.follow_reference)
    throw Error("cutout and follow reference contradict each other: who knows a cut-out alone "
                "cannot move the atoms of the whole box; remove one of the two");
  at_least("train", o.train, 0, from_zero);
  at_least("warmup", o.warmup, 1, from_one);
  at_least("target", o.target * unit, 0, "a positive force, or 0 for none");
  at_least("train_seconds", o.train_seconds, 0, "a positive time, or 0 for any");
  at_least("batch", o.batch.value_or(1), 1, from_one);
  at_least("buffer", static_cast<double>(o.buffer), 0, "a number of frames, or 0 for all");
  if (!o.optimizer.empty()) optimizer_named(o.optimizer);
  const double ema = o.ema.value_or(0.0);
  if (!(ema >= 0.0 && ema < 1.0))
    throw Error(fmt::format(
        "ema {:.6g} is not possible: use a number from 0 (no average) to below 1", ema));
  at_least("save_every", static_cast<double>(o.save_every), 0, from_zero);
  at_least("disp_every", static_cast<double>(o.disp_every.value_or(1)), 1, from_one);
}

}  // namespace dptrain
