// Between Python's values and the library's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"

namespace nb = nanobind;

using Cell = std::array<double, 9>;
using Positions = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Types = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A NumPy array that owns its numbers.
inline nb::object array(std::vector<double> &&values, std::initializer_list<std::size_t> shape)
{
  auto *kept = new std::vector<double>(std::move(values));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double>(kept->data(), shape.size(), shape.begin(), owner));
}

/// A frame of these atoms; without cell: not periodic.
inline dptrain::WholeFrame frame_of(const Positions &positions, const Types &types,
                                    const std::optional<Cell> &cell)
{
  dptrain::WholeFrame whole;
  whole.coord.assign(positions.data(), positions.data() + 3 * positions.shape(0));
  whole.type.assign(types.data(), types.data() + types.shape(0));
  whole.periodic = cell.has_value();
  if (cell) whole.box = *cell;
  return whole;
}

/// Starts the kernels, whose threads belong to the Python thread that does so: throws Error in any other one.
inline void start_kernels()
{
  static const std::thread::id owner = [] {
    dptrain::use_threads(dptrain::thread_share());
    return std::this_thread::get_id();
  }();
  if (std::this_thread::get_id() != owner)
    throw dptrain::Error(
        "models are loaded, evaluated and trained by one thread of a program, the first that "
        "does so: use processes to evaluate several at a time");
}
