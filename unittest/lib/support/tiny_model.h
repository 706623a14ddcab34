#pragma once

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"

namespace dptrain::test {

/// A small model with random weights and statistics of usual size; change `config` before calling.
inline ModelConfig tiny_config(int ntypes = 2)
{
  ModelConfig c;
  for (int t = 0; t < ntypes; ++t) c.type_map.push_back(std::string(1, static_cast<char>('A' + t)));
  c.rcut = 4.0;
  SeE2AConfig d;
  d.rcut_smth = 1.0;
  d.sel.assign(ntypes, 24);
  d.neuron = {5, 10};
  d.axis_neuron = 3;
  d.type_one_side = true;
  c.descriptor = d.clone();
  c.fitting_neuron = {7, 7};
  return c;
}

inline ModelData tiny_model(const ModelConfig &config, std::uint64_t seed = 7)
{
  ModelData data;
  data.config = config;
  RandomEngine engine(seed);
  const int n = config.ntypes();
  for (int t = 0; t < n; ++t) {
    const double mean = se_e2_a(config).set_davg_zero ? 0.0 : 0.05 + 0.01 * t;
    auto &davg = data.descriptor_constants["davg"], &dstd = data.descriptor_constants["dstd"];
    davg.insert(davg.end(), {mean, 0.0, 0.0, 0.0});
    const double radial = 0.14 + 0.02 * t, angular = 0.08 + 0.01 * t;
    dstd.insert(dstd.end(), {radial, angular, angular, angular});
    data.out_bias.push_back(-1.5 - t);
    data.bias_atom_e.push_back(0.25 * t);
  }
  const auto index = parameter_index(config);
  for (const auto &block : index) {
    const bool weight = block.name.back() == 'w';
    const double size = weight ? 1.0 / std::sqrt(double(block.shape[0] + block.shape[1])) : 0.5;
    for (std::size_t k = 0; k < block.size; ++k)
      data.parameters.push_back(size * random_normal(engine));
  }
  data.min_nbor_dist = 0.9;
  return data;
}

/// An open cluster with full neighbor lists: random positions, no pair closer than `closest` Angstrom.
struct Cluster {
  std::vector<double> x;
  std::vector<int> type, centers, counts;
  std::vector<std::vector<int>> lists;
  std::vector<const int *> rows;

  Cluster(int natoms, int ntypes, double size, double closest = 0.9, std::uint64_t seed = 3)
  {
    RandomEngine engine(seed);
    while (static_cast<int>(type.size()) < natoms) {
      double p[3];
      for (double &c : p) c = size * random_uniform(engine);
      bool free = true;
      for (std::size_t j = 0; j < type.size(); ++j)
        free =
            free && std::hypot(p[0] - x[3 * j], p[1] - x[3 * j + 1], p[2] - x[3 * j + 2]) > closest;
      if (!free) continue;
      x.insert(x.end(), p, p + 3);
      type.push_back(static_cast<int>(random_index(engine, ntypes)));
    }
    link();
  }

  void link()
  {
    const int n = static_cast<int>(type.size());
    lists.assign(n, {});
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (i != j) lists[i].push_back(j);
    rows.clear();
    counts.clear();
    for (const auto &l : lists) {
      rows.push_back(l.data());
      counts.push_back(static_cast<int>(l.size()));
    }
    centers.resize(n);
    std::iota(centers.begin(), centers.end(), 0);
  }

  Domain domain() const
  {
    Domain d;
    d.nlocal = d.nall = static_cast<int>(type.size());
    d.num_centers = static_cast<int>(centers.size());
    d.x = x.data();
    d.type = type.data();
    d.centers = centers.data();
    d.num_neighbors = counts.data();
    d.neighbors = rows.data();
    return d;
  }
};

struct Result {
  double energy = 0.0;
  std::vector<double> force, atom_energy, atom_virial;
  std::array<double, 9> virial{};
};

inline Result evaluate(Model &model, const Domain &domain)
{
  Result r;
  r.force.assign(3 * domain.nall, 0.0);
  r.atom_energy.assign(domain.nlocal, 0.0);
  r.atom_virial.assign(9 * domain.nall, 0.0);
  ForwardOutput out;
  out.force = r.force.data();
  out.atom_energy = r.atom_energy.data();
  out.atom_virial = r.atom_virial.data();
  model.forward(domain, out);
  r.energy = out.energy;
  r.virial = out.virial;
  return r;
}

}  // namespace dptrain::test
