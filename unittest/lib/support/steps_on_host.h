#pragma once

#include <vector>

#include "kernels/memory.h"
#include "optimizer/optimizer.h"
#include "training/gradient_sum.h"

namespace dptrain::test {

/// An array of the host in the memory of the kernels, while `work` changes it there.
template <class Work> void in_kernels(std::vector<double> &values, const Work &work)
{
  kernels::Array<double> array;
  array.copy_from(values);
  work(array);
  array.copy_to(values.data());
}

inline void take_step(Optimizer &optimizer, std::vector<double> &parameters,
                      const std::vector<double> &gradient, double lr)
{
  kernels::Array<double> given;
  given.copy_from(gradient);
  in_kernels(parameters, [&](kernels::Array<double> &array) {
    optimizer.step(array.data(), given.data(), lr);
  });
}

inline void take_sum(GradientSum &sum, std::vector<double> &gradient)
{
  in_kernels(gradient, [&](kernels::Array<double> &array) { sum.sum(array); });
}

}  // namespace dptrain::test
