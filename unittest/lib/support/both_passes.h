#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "dptrain/potential/model/model.h"

namespace dptrain::test {

/// Pass A over domains whose results nobody looks at.
inline std::unique_ptr<Tape> tape_of(Model &model, const Domain *domains, int n)
{
  std::vector<ForwardOutput> out(n);
  std::vector<std::vector<double>> force(n);
  for (int k = 0; k < n; ++k) {
    force[k].assign(3 * static_cast<std::size_t>(domains[k].nall), 0.0);
    out[k].force = force[k].data();
  }
  return model.forward(domains, n, out.data(), true);
}

/// Pass B. Nothing of what was in the gradient before may be used.
inline std::vector<double> gradient_of(Model &model, Tape &tape, const GradientSeed *seeds)
{
  std::vector<double> gradient(model.parameters().size(), 1e30);
  model.gradient(tape, seeds, gradient.data());
  return gradient;
}

/// Both passes.
inline std::vector<double> gradient_of(Model &model, const Domain *domains, int n,
                                       const GradientSeed *seeds)
{
  return gradient_of(model, *tape_of(model, domains, n), seeds);
}

}  // namespace dptrain::test
