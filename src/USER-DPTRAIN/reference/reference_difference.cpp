/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_difference.h"

#include <algorithm>
#include <utility>

using namespace LAMMPS_NS;

ReferenceDifference::ReferenceDifference(LAMMPS *lmp, std::unique_ptr<Reference> reference,
                                         const PairOptions &baseline, FoldGhosts fold) :
    lmp_(lmp),
    reference_(std::move(reference)),
    baseline_(lmp, "subtract", baseline, std::move(fold))
{
}

void ReferenceDifference::init()
{
  reference_->init();
  baseline_.init();
}

void ReferenceDifference::setup()
{
  reference_->setup();
  baseline_.setup();
}

void ReferenceDifference::Source::prepare(dptrain::WholeFrame &frame)
{
  const NestedPair::Values &values = owner_.baseline_.evaluate();
  frame.label = label_of(owner_.lmp_, {values.energy, values.force, values.virial});
}

std::int64_t ReferenceDifference::Source::submit(const dptrain::WholeFrame &frame)
{
  const std::int64_t request = inner().submit(frame);
  baselines_[request] = frame.label;
  return request;
}

std::vector<dptrain::LabelAnswer> ReferenceDifference::Source::poll()
{
  std::vector<dptrain::LabelAnswer> answers = inner().poll();
  for (dptrain::LabelAnswer &answer : answers) {
    const dptrain::Label baseline = std::move(baselines_.at(answer.request));
    baselines_.erase(answer.request);
    if (!answer.failure.empty()) continue;
    dptrain::Label &label = answer.label;
    *label.energy -= *baseline.energy;
    for (std::size_t k = 0; k < label.force.size(); ++k) label.force[k] -= baseline.force[k];
    if (label.virial)
      for (std::size_t k = 0; k < 9; ++k) (*label.virial)[k] -= (*baseline.virial)[k];
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
  return std::max(reference_->comm_forward(), baseline_.comm_forward());
}

int ReferenceDifference::comm_reverse() const
{
  return std::max(reference_->comm_reverse(), baseline_.comm_reverse());
}

double ReferenceDifference::memory_usage() const
{
  return reference_->memory_usage() + baseline_.memory_usage();
}
