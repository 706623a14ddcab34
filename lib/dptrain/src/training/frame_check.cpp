#include "training/frame_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dptrain/error.h"

namespace dptrain {

namespace {

std::string name_of(const Frame &frame)
{
  return "Labelled frame of step " + std::to_string(frame.step);
}

[[noreturn]] void fail(const Frame &frame, const std::string &what)
{
  throw Error(name_of(frame) + ": " + what);
}

void check_finite(const Frame &frame, const double *values, std::size_t n, const std::string &what)
{
  for (std::size_t k = 0; k < n; ++k)
    if (!std::isfinite(values[k]))
      fail(frame,
           what + " holds " + std::to_string(values[k]) +
               ": the reference or the simulation went wrong there; the frame cannot be used");
}

void check_share(const Frame &frame, int ntypes)
{
  const std::size_t n = frame.nlocal, nall = frame.type.size();
  if (nall < n || frame.x.size() != 3 * nall || frame.first.size() != n + 1 ||
      frame.neighbor.size() != std::size_t(frame.first.back()))
    fail(frame, "its arrays do not fit to " + std::to_string(n) + " owned of " +
                    std::to_string(nall) + " atoms");
  if (!frame.halo) fail(frame, "it has no halo; frames come from scatter_frame");
  for (int type : frame.type)
    if (type < -1 || type >= ntypes)
      fail(frame, "atom type " + std::to_string(type) + " does not exist in the model, which has " +
                      std::to_string(ntypes) + " types (counted from 0)");
  check_finite(frame, frame.x.data(), frame.x.size(), "a position");
  check_finite(frame, frame.label.force.data(), frame.label.force.size(), "a force label");
  if (frame.label.energy) check_finite(frame, &*frame.label.energy, 1, "the energy label");
  if (frame.label.virial) check_finite(frame, frame.label.virial->data(), 9, "the virial label");
  if (!frame.label.force.empty() && frame.label.force.size() != 3 * n)
    fail(frame, std::to_string(frame.label.force.size()) + " force components for " +
                    std::to_string(n) + " atoms (3 per atom are needed)");
}

}  // namespace

void check_frame(const Communicator &comm, const Frame &frame, int ntypes)
{
  guarded(comm, [&] { check_share(frame, ntypes); });
  std::int64_t sums[4] = {frame.nlocal, frame.label.energy ? 1 : 0, frame.label.virial ? 1 : 0,
                          static_cast<std::int64_t>(frame.label.force.size())};
  comm.all_reduce_sum(sums, 4);
  if (sums[0] != frame.natoms || frame.natoms < 1)
    fail(frame, "the ranks own " + std::to_string(sums[0]) + " atoms together, the frame has " +
                    std::to_string(frame.natoms));
  if (sums[1] % comm.size() != 0 || sums[2] % comm.size() != 0 ||
      (sums[3] != 0 && sums[3] != 3 * frame.natoms))
    fail(frame, "some ranks have a label (energy, virial or forces) and others do not");
  if (sums[1] + sums[2] + sums[3] == 0)
    fail(frame, "it has no label: no energy, no forces and no virial");
}

std::vector<std::int64_t> count_types(const Communicator &comm, const Frame &frame, int ntypes)
{
  std::vector<std::int64_t> counts(ntypes, 0);
  for (int i = 0; i < frame.nlocal; ++i)
    if (frame.type[i] >= 0) ++counts[frame.type[i]];
  comm.all_reduce_sum(counts.data(), counts.size());
  return counts;
}

double shortest_distance(const Communicator &comm, const Frame &frame)
{
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < frame.nlocal; ++i)
    for (int k = frame.first[i]; k < frame.first[i + 1]; ++k) {
      const double *p = &frame.x[std::size_t(i) * 3];
      const double *q = &frame.x[std::size_t(frame.neighbor[k]) * 3];
      const double dx = q[0] - p[0], dy = q[1] - p[1], dz = q[2] - p[2];
      shortest = std::min(shortest, dx * dx + dy * dy + dz * dz);
    }
  double largest = -shortest;
  comm.all_reduce_max(&largest, 1);
  if (largest == 0.0) fail(frame, "two atoms are at the same position");
  return std::sqrt(-largest);
}

}  // namespace dptrain
