#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/graph.h"
#include "kernels/stream.h"

namespace dptrain {

/// A matrix in the memory of the kernels, or several of one shape.
template <class Real> struct MatrixView {
  const Real *data;
  long rows, columns;
  long row_stride = columns, column_stride = 1;
  long number = 1, stride = 0;  ///< of matrices, and from one to the next

  MatrixView transposed() const
  {
    return {data, columns, rows, column_stride, row_stride, number, stride};
  }
  MatrixView row_block(long begin, long n) const
  {
    return {data + begin * row_stride, n, columns, row_stride, column_stride, number, stride};
  }
  MatrixView column_block(long begin, long n) const
  {
    return {data + begin * column_stride, rows, n, row_stride, column_stride, number, stride};
  }
  /// As LibTorch sees it, which may write to it: [rows][columns], or [number][rows][columns] if there are several.
  at::Tensor tensor() const;
};

/// Calls call(work) with LibTorch in the stream of the kernels and without autograd.
void call_in_torch(void (*call)(const void *), const void *work);

/// Calls work() with LibTorch, in order with kernels and copies, without a wait. It may only use what it captures, by value.
/// `name`: see kernels::in_stream.
template <class Work> void in_torch(const char *name, const Work &work)
{
  if (!kernels::begin_command()) return;
  kernels::in_stream(name, [work] {
    call_in_torch([](const void *given) { (*static_cast<const Work *>(given))(); }, &work);
  });
}

}  // namespace dptrain
