#include "dptrain/session/learning_options.h"

#include <fmt/format.h>
#include <string>

#include "dptrain/base/error.h"
#include "dptrain/session/option_table.h"
#include "dptrain/uncertainty/active_learning.h"

namespace dptrain {

void check(const LearningOptions &o)
{
  check_ranges(o);
  constexpr double almost = 1.0 - 1e-9;  // decimal numbers are rounded
  const double unit = o.units.force(), threshold = ActiveLearning::threshold_of(o.accuracy.value);
  if (!o.accuracy.is_relative && o.limit > 0.0 && o.limit < almost * threshold)
    throw Error(fmt::format(
        "the limit {:g} is below the error bar {:g} above which the reference is asked, ten times "
        "the accuracy: above the limit the model does not move the atoms; give a larger limit",
        o.limit * unit, threshold * unit));
  if (o.asynchronous > 0 && (!o.active || o.selects))
    throw Error("asynchronous needs mode active and a reference: labels may come later where the "
                "error bars of the model ask for them");
  if (o.asynchronous > 0 && o.follow_reference)
    throw Error("asynchronous: the run goes on with the model while the reference computes, and "
                "cannot follow the reference: remove one of the two");
  if (o.prepare.copies > 0 && o.prepare.displace == 0.0 && o.prepare.strain == 0.0)
    throw Error("prepare ... displace 0 without a strain would make copies that are all the same: "
                "use a distance, such as 0.05 Angstrom");
  if (o.prepare.copies > 0 && (!o.active || o.selects))
    throw Error(
        "prepare needs mode active and a reference: it labels configurations before the run");
  if (o.prepare.copies > 0 && o.cutout.radius > 0.0)
    throw Error("prepare and cutout contradict each other: the reference would get the whole box; "
                "remove one of the two, and prepare a model in a small box first");
  if (o.explore.steps > 0 && (!o.active || o.selects))
    throw Error("explore needs mode active and a reference: it labels what the model does not "
                "know");
  if (o.explore.steps > 0 && o.cutout.radius > 0.0)
    throw Error("explore and cutout contradict each other: the reference would get the whole box; "
                "remove one of the two, and explore in a small box first");
  if (o.explore.steps > 0 && o.limit_stops)
    throw Error("explore and limit ... stop contradict each other: what is above the limit is what "
                "explore looks for; remove one of the two");
  if (o.cutout.radius > 0.0 && (!o.active || o.selects))
    throw Error("cutout needs mode active and a reference: the error bars say what is cut out");
  if (o.cutout.radius > 0.0 && o.follow_reference)
    throw Error("cutout and follow reference contradict each other: who knows a cut-out alone "
                "cannot move the atoms of the whole box; remove one of the two");
}

}  // namespace dptrain
