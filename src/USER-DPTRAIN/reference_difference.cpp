#include "reference_difference.h"

#include <algorithm>

#include "atom.h"

using namespace LAMMPS_NS;

ReferenceDifference::ReferenceDifference(LAMMPS *lmp, std::unique_ptr<Reference> reference,
                                         const PairOptions &baseline, FoldGhosts fold) :
    Pointers(lmp),
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

void ReferenceDifference::request()
{
  reference_->request();
  values_ = baseline_.evaluate();
  force_.assign(values_.force, values_.force + static_cast<std::size_t>(atom->nlocal) * 3);
}

ReferenceAnswer ReferenceDifference::poll()
{
  ReferenceAnswer answer = reference_->poll();
  if (answer.status != ReferenceAnswer::Status::label) return answer;
  ReferenceLabel &label = answer.label;
  label.energy -= values_.energy;
  for (int k = 0; k < 6; ++k) label.virial[k] -= values_.virial[k];
  for (std::size_t k = 0; k < force_.size(); ++k) force_[k] = label.force[k] - force_[k];
  label.force = force_.data();
  return answer;
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
  return reference_->memory_usage() + baseline_.memory_usage() +
         static_cast<double>(force_.capacity() * sizeof(double));
}
