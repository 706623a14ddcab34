// gather_frame: all ranks' shares of a frame on rank 0.

#include <algorithm>
#include <numeric>
#include <string>

#include "dptrain/error.h"
#include "dptrain/files.h"

namespace dptrain {

namespace {

/// Values [nlocal][width] of all ranks, in rank order, on rank 0; empty elsewhere.
template <class T>
std::vector<T> gather(const Communicator &comm, const std::vector<T> &values,
                      const std::vector<std::int64_t> &atoms, int width)
{
  const int size = comm.size();
  std::vector<int> send(size, 0), receive(size, 0);
  send[0] = static_cast<int>(values.size());
  std::int64_t total = 0;
  if (comm.rank() == 0)
    for (int r = 0; r < size; ++r) {
      receive[r] = static_cast<int>(atoms[r] * width);
      total += receive[r];
    }
  std::vector<T> all(total);
  comm.all_to_all(values.data(), send, all.data(), receive);
  return all;
}

/// values[k] of atom order[k].
template <class T, class U>
std::vector<T> permute(const std::vector<U> &values, const std::vector<std::size_t> &order,
                       int width)
{
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (std::size_t k : order)
    for (int c = 0; c < width; ++c) sorted.push_back(static_cast<T>(values[k * width + c]));
  return sorted;
}

std::vector<std::size_t> order_of_tags(const std::vector<std::int64_t> &tags)
{
  std::vector<std::size_t> order(tags.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return tags[i] < tags[j]; });
  for (std::size_t k = 1; k < order.size(); ++k)
    if (tags[order[k]] == tags[order[k - 1]])
      throw Error("A frame has two atoms with the id " + std::to_string(tags[order[k]]) +
                  ": atom ids must be unique");
  return order;
}

void check_share(const Frame &frame, bool has_force)
{
  const std::size_t n = frame.nlocal;
  if (frame.tag.size() != n || frame.x.size() < 3 * n || frame.type.size() < n)
    throw Error("A frame of " + std::to_string(n) + " atoms has " +
                std::to_string(frame.tag.size()) + " atom ids and " +
                std::to_string(frame.x.size() / 3) + " positions");
  if (has_force && frame.label.force.size() != 3 * n)
    throw Error("A frame has forces for " + std::to_string(frame.label.force.size() / 3) + " of " +
                std::to_string(n) + " atoms of a rank");
}

}  // namespace

WholeFrame gather_frame(const Communicator &comm, const Frame &frame)
{
  std::int64_t has_force = frame.label.force.empty() ? 0 : 1;
  comm.all_reduce_max(&has_force, 1);
  guarded(comm, [&] { check_share(frame, has_force != 0); });

  const std::vector<std::int64_t> atoms = comm.all_gather(frame.nlocal);
  const std::size_t n = frame.nlocal;
  const std::vector<double> own_x(frame.x.begin(), frame.x.begin() + 3 * n);
  const std::vector<std::int64_t> own_type(frame.type.begin(), frame.type.begin() + n);
  const auto tag = gather(comm, frame.tag, atoms, 1);
  const auto x = gather(comm, own_x, atoms, 3);
  const auto type = gather(comm, own_type, atoms, 1);
  const auto force = has_force ? gather(comm, frame.label.force, atoms, 3) : std::vector<double>();

  WholeFrame whole;
  guarded(comm, [&] {
    const std::vector<std::size_t> order = order_of_tags(tag);
    whole.coord = permute<double>(x, order, 3);
    whole.type = permute<int>(type, order, 1);
    if (has_force) whole.label.force = permute<double>(force, order, 3);
  });
  whole.step = frame.step;
  whole.box = frame.box;
  whole.periodic = frame.periodic;
  whole.label.energy = frame.label.energy;
  whole.label.virial = frame.label.virial;
  return whole;
}

}  // namespace dptrain
