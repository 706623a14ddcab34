#pragma once

#include <cmath>
#include <vector>

#include "potential/descriptor/descriptor.h"

namespace dptrain::test {

template <class T> std::vector<T> on_host(const T *data, std::size_t n)
{
  std::vector<T> copy(n);
  kernels::copy_out(copy.data(), data, n * sizeof(T));
  return copy;
}

/// The edges of a chunk on the host.
struct HostEdges {
  std::vector<int> center, frame, first, count, neighbor, type;
  std::vector<double> d[3];

  template <class Real> explicit HostEdges(const EdgeChunk<Real> &chunk)
  {
    const auto &e = chunk.edges();
    const std::size_t n = e.num_centers, slots = chunk.num_slots();
    center = on_host(e.centers, n);
    frame = on_host(e.frame, n);
    first = on_host(e.first, n);
    count = on_host<int>(e.count, n);
    neighbor = on_host<int>(e.neighbor, slots);
    type = on_host<int>(e.type, slots);
    for (int a = 0; a < 3; ++a) {
      const std::vector<Real> values = on_host<Real>(e.d[a], slots);
      d[a].assign(values.begin(), values.end());
    }
  }
  std::size_t num_centers() const { return first.size(); }
  /// work(center, slot, d, r) for all edges.
  template <class Work> void for_each(const Work &work) const
  {
    for (std::size_t i = 0; i < first.size(); ++i)
      for (int e = first[i]; e < first[i] + count[i]; ++e) {
        const double v[3] = {d[0][e], d[1][e], d[2][e]};
        work(static_cast<int>(i), e, v, std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
      }
  }
  /// work(center, slot, r, tangent of r)
  template <class Work> void for_tangents(const Direction &direction, const Work &work) const
  {
    const std::vector<double> strains = on_host(direction.strains, 9L * direction.frames);
    std::vector<double> residuals(3L * direction.atoms, 0.0);
    if (direction.residuals) residuals = on_host(direction.residuals, residuals.size());
    for_each([&](int i, int e, const double *v, double r) {
      double r_dot = 0.0;
      for (int a = 0; a < 3; ++a) {
        double u = residuals[3 * neighbor[e] + a] - residuals[3 * center[i] + a];
        for (int b = 0; b < 3; ++b) u += strains[9 * frame[i] + 3 * a + b] * v[b];
        r_dot += u * v[a] / r;
      }
      work(i, e, r, r_dot);
    });
  }
  /// Adds forces and virials; along(center, slot, r) is dE/dr of an edge.
  template <class Along> void add_forces(const kernels::ForceSums &sums, const Along &along) const
  {
    std::vector<double> force = on_host(sums.force, 3L * sums.atoms),
                        virial = on_host(sums.virial, 9L * sums.frames), atom_virial;
    if (sums.atom_virial) atom_virial = on_host(sums.atom_virial, 9L * sums.atoms);
    for_each([&](int i, int e, const double *v, double r) {
      const double g = along(i, e, r) / r;
      for (int a = 0; a < 3; ++a) {
        force[3 * center[i] + a] += g * v[a];
        force[3 * neighbor[e] + a] -= g * v[a];
        for (int b = 0; b < 3; ++b) {
          virial[9 * frame[i] + 3 * a + b] -= g * v[a] * v[b];
          if (sums.atom_virial) atom_virial[9 * neighbor[e] + 3 * a + b] -= g * v[a] * v[b];
        }
      }
    });
    kernels::copy_in(sums.force, force.data(), force.size() * sizeof(double));
    kernels::copy_in(sums.virial, virial.data(), virial.size() * sizeof(double));
    if (sums.atom_virial)
      kernels::copy_in(sums.atom_virial, atom_virial.data(), atom_virial.size() * sizeof(double));
  }
};

}  // namespace dptrain::test
