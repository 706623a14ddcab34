#include "dptrain/potential/model/evaluator.h"

#include <cmath>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "kernels/memory.h"

namespace dptrain {

void Evaluator::step(const Domain &domain, ForwardOutput &out)
{
  // where the host cannot look, the model says that there is one
  const bool readable = !domain.in_kernel_memory || !kernels::separate_memory();
  const std::size_t numbers = readable ? std::size_t(domain.nall) * 3 : 0;
  const auto check = [&] {
    for (std::size_t k = 0; k < numbers; ++k)
      if (!std::isfinite(domain.x[k]))
        throw Error(fmt::format("The position of atom {} of this rank is not a finite number: the "
                                "simulation has become unstable; check the time step, the start "
                                "configuration and the model",
                                k / 3));
  };
  // sums over ranks follow: all of them have to know
  if (domain.whole && domain.whole->ranks && model_->charges())
    guarded(*domain.whole->ranks, check);
  else
    check();
  model_->forward(domain, out);
  if (out.sums && !std::isfinite(out.energy))
    throw Error("The energy of the model is not finite: atoms lie on top of each other, or the "
                "parameters of the model are broken; check the start configuration and the model");
}

}  // namespace dptrain
