/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_difference.h"

#include <algorithm>
#include <utility>

#include "error.h"
#include "lammps.h"
#include "reference/pair_instance.h"

using namespace LAMMPS_NS;

ReferenceDifference::ReferenceDifference(LAMMPS *lmp, Reference &reference, const ModelInUse &slot,
                                         FoldGhosts fold, bool any_frame) :
    lmp_(lmp), reference_(reference)
{
  const std::vector<dptrain::Baseline> &baseline = slot.baseline();
  if (!any_frame) {
    present_.emplace(lmp, "baseline of fix dptrain:", baseline, slot.elements(), std::move(fold));
    return;
  }
  for (const dptrain::Baseline &one : baseline)
    if (!one.kspace_style.empty() && one.charges.empty())
      lmp->error->all(FLERR,
                      "Fix dptrain: the baseline {} needs the charges of configurations that the "
                      "run is not in (prepare, cutout), and atoms of one element have different "
                      "ones: give each element one charge, or remove prepare and cutout",
                      one.pair_style);
  collective(lmp, "Fix dptrain: baseline", [&] {
    any_ = baseline_of_frames(lmp, *world_communicator(lmp), baseline, slot.type_map());
  });
}

void ReferenceDifference::init()
{
  reference_.init();
  if (!present_) return;
  present_->init();
  present_->reach_cutoff();
}

void ReferenceDifference::setup()
{
  reference_.setup();
  if (present_) present_->setup();
}

void ReferenceDifference::Source::prepare(dptrain::WholeFrame &frame)
{
  if (!owner_.present_) {
    frame.baseline = owner_.any_(frame);
    return;
  }
  const NestedPair::Values &values = owner_.present_->evaluate();
  frame.baseline = label_of(owner_.lmp_, {values.energy, values.force, values.virial});
}

std::int64_t ReferenceDifference::Source::submit(const dptrain::WholeFrame &frame)
{
  const std::int64_t request = inner().submit(frame);
  baselines_[request] = frame.baseline.value();
  return request;
}

std::vector<dptrain::LabelAnswer> ReferenceDifference::Source::poll()
{
  std::vector<dptrain::LabelAnswer> answers = inner().poll();
  for (dptrain::LabelAnswer &answer : answers) {
    const dptrain::Label baseline = std::move(baselines_.at(answer.request));
    baselines_.erase(answer.request);
    if (!answer.failure.empty()) continue;
    add(answer.label, baseline, -1.0);
  }
  return answers;
}

void ReferenceDifference::Source::cancel(std::int64_t request)
{
  inner().cancel(request);
  baselines_.erase(request);
}

int ReferenceDifference::comm_forward() const
{
  return std::max(reference_.comm_forward(), present_ ? present_->comm_forward() : 0);
}

int ReferenceDifference::comm_reverse() const
{
  return std::max(reference_.comm_reverse(), present_ ? present_->comm_reverse() : 0);
}

double ReferenceDifference::memory_usage() const
{
  return reference_.memory_usage() + (present_ ? present_->memory_usage() : 0.0);
}
