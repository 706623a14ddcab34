#include "dptrain/potential/model/model.h"

#include "dptrain/base/error.h"

namespace dptrain {

void Model::gradient(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  if (tape.version() != version())
    throw Error("Pass B needs the model and the parameters of pass A: they are others now");
  pass_b(tape, seeds, gradient);
}

}  // namespace dptrain
