#include "reference_pair.h"

#include "update.h"

using namespace LAMMPS_NS;

void ReferencePair::request()
{
  const NestedPair::Values &values = pair_.evaluate();
  answer_ = ReferenceAnswer();
  answer_.status = ReferenceAnswer::Status::label;
  answer_.label = {update->ntimestep, values.energy, values.force, values.virial};
}

ReferenceAnswer ReferencePair::poll()
{
  ReferenceAnswer answer = answer_;
  answer_ = ReferenceAnswer();
  return answer;
}
