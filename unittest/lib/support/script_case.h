#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "random_frame.h"
#include "script_toy.h"

namespace dptrain::test {

inline const ScriptToy &script_toy_named(const std::string &name)
{
  for (const auto &[known, toy] : script_toys())
    if (known == name) return toy;
  throw Error("no toy " + name);
}

constexpr double FPARAM = 0.6;  ///< of toys that have one

inline ModelData script_data(const ScriptToy &toy)
{
  ModelData data;
  data.kind = ModelKind::torchscript;
  data.archive = script_toy(toy);
  if (toy.fparam) data.fparam = {FPARAM};
  return data;
}

inline std::shared_ptr<Model> script_model(const ScriptToy &toy)
{
  return make_model(script_data(toy), "toy.pth");
}

/// 13 atoms in a skewed cell that is smaller than twice the cutoff, with ghosts that are images of all of them.
inline WholeFrame script_frame(unsigned seed = 5, int natoms = 13)
{
  return random_frame(seed, natoms, skewed_box(5.2), true, 1.1);
}

inline Frame one_rank_frame(const WholeFrame &whole, double cutoff = 4.0)
{
  return scatter_frame(make_mpi_communicator(), whole, cutoff);
}

/// The toy's definition (see ScriptToy), written down naively.
class PlainToy {
 public:
  PlainToy(const ScriptToy &toy, const Model &model) : toy_(toy), bias_(model.energy_bias())
  {
    for (const ParameterBlock &block : model.parameters().blocks())
      parameters_[block.name.substr(block.name.rfind('.') + 1)] =
          std::vector<double>(model.parameters().values().begin() + block.offset,
                              model.parameters().values().begin() + block.offset + block.size);
    for (const int n : toy.sel) nnei_ += static_cast<std::size_t>(n);
  }

  static constexpr int hidden = 4, radial = 5;
  using Hidden = std::array<double, hidden>;

  /// Outputs of the last hidden layer, by atom.
  std::vector<Hidden> features(const Domain &domain) const
  {
    std::vector<Hidden> h(domain.nlocal);
    for (int i = 0; i < domain.nlocal; ++i)
      if (domain.type[i] >= 0) h[i] = first_layer(domain, i);
    if (!toy_.messages) return h;
    std::vector<Hidden> last(domain.nlocal);
    for (int i = 0; i < domain.nlocal; ++i) {
      if (domain.type[i] < 0) continue;
      Hidden sum{};
      for (const Neighbor &n : neighbors(domain, i))
        for (int c = 0; c < hidden; ++c) sum[c] += h[domain.owner[n.atom]][c] * weight(n.r);
      for (int c = 0; c < hidden; ++c) {
        double value = h[i][c];
        for (int b = 0; b < hidden; ++b)
          value += sum[b] * parameters_.at("message")[b * hidden + c];
        last[i][c] = std::tanh(value);
      }
    }
    return last;
  }

  /// [nlocal], with the constants.
  std::vector<double> energies(const Domain &domain) const
  {
    const std::vector<Hidden> f = features(domain);
    std::vector<double> energies(domain.nlocal, 0.0);
    for (int i = 0; i < domain.nlocal; ++i) {
      if (domain.type[i] < 0) continue;
      energies[i] = bias_[domain.type[i]];
      for (int c = 0; c < hidden; ++c)
        energies[i] += f[i][c] * parameters_.at("w2")[domain.type[i] * hidden + c];
    }
    return energies;
  }

  /// Centers with more neighbors than the model takes.
  int overflows(const Domain &domain) const
  {
    int count = 0;
    for (int i = 0; i < domain.nlocal; ++i) {
      std::array<int, 2> of_type{};
      for (const Neighbor &n : neighbors(domain, i, false)) ++of_type[domain.type[n.atom]];
      const bool too_many = toy_.mixed ? of_type[0] + of_type[1] > static_cast<int>(nnei_)
                                       : of_type[0] > toy_.sel[0] || of_type[1] > toy_.sel[1];
      count += domain.type[i] >= 0 && too_many;
    }
    return count;
  }

 private:
  struct Neighbor {
    double r;
    int atom;
  };

  double weight(double r) const { return std::pow(1 - r * r / (toy_.cutoff * toy_.cutoff), 3); }

  std::vector<Neighbor> neighbors(const Domain &domain, int i, bool nearest = true) const
  {
    std::vector<Neighbor> found;
    for (int k = 0; k < domain.num_neighbors[i]; ++k) {
      const int j = domain.neighbors[i][k] & domain.neighbor_mask;
      const double r = std::sqrt(distance_squared(domain.x + 3 * i, domain.x + 3 * j));
      if (domain.type[j] >= 0 && r < toy_.cutoff) found.push_back({r, j});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Neighbor &a, const Neighbor &b) { return a.r < b.r; });
    if (nearest && found.size() > nnei_) found.resize(nnei_);
    return found;
  }

  Hidden first_layer(const Domain &domain, int i) const
  {
    std::array<double, radial> g{};
    const std::vector<Neighbor> around = neighbors(domain, i);
    const std::vector<double> &pair = parameters_.at("pair");
    for (const Neighbor &n : around)
      for (int k = 0; k < radial; ++k) {
        const double shift = n.r - (1.0 + k * (toy_.cutoff - 1.0) / (radial - 1));
        g[k] += pair[(2 * domain.type[i] + domain.type[n.atom]) * radial + k] *
                std::exp(-2 * shift * shift) * weight(n.r);
      }
    if (toy_.padding)
      for (int k = 0; k < radial; ++k)
        g[k] += 0.02 * static_cast<double>(nnei_ - around.size()) *
                pair[domain.first_type * radial + k];
    Hidden h;
    for (int c = 0; c < hidden; ++c) {
      double value = parameters_.at("b1")[domain.type[i] * hidden + c];
      for (int k = 0; k < radial; ++k) value += g[k] * parameters_.at("w1")[k * hidden + c];
      if (toy_.fparam) value += FPARAM * parameters_.at("wf")[c];
      h[c] = std::tanh(value);
    }
    return h;
  }

  ScriptToy toy_;
  std::vector<double> bias_;
  std::map<std::string, std::vector<double>> parameters_;
  std::size_t nnei_ = 0;
};

/// Everything that forward() can give, where it is asked for.
struct ScriptResult {
  double energy = 0.0, network_energy = 0.0;
  std::vector<double> force, atom_energy, atom_virial, virial;
  std::vector<double> bar, feature_sum, covariance;
};

inline ScriptResult script_results(Model &model, const Domain &domain, bool features = false)
{
  ScriptResult r;
  ForwardOutput out;
  const AtomFeatures *layer = model.features();
  const std::size_t h = layer ? layer->number() : 0;
  const auto room = [](std::vector<double> &values, std::size_t n) {
    values.assign(n, 0.0);
    return values.data();
  };
  out.force = room(r.force, 3 * domain.nall);
  out.atom_energy = room(r.atom_energy, domain.nlocal);
  out.atom_virial = room(r.atom_virial, 9 * domain.nall);
  if (features) {
    out.bar = room(r.bar, domain.nlocal);
    out.feature_sum = room(r.feature_sum, 2 * h);
    out.feature_covariance = room(r.covariance, 2 * h * h);
  }
  model.forward(domain, out);
  r.energy = out.energy;
  r.network_energy = out.network_energy;
  r.virial.assign(out.virial.begin(), out.virial.end());
  return r;
}

/// Fails unless all numbers agree to `tolerance` of the largest one, which must not be nothing.
inline void expect_same(const std::vector<double> &a, const std::vector<double> &b,
                        double tolerance, const std::string &what)
{
  ASSERT_EQ(a.size(), b.size()) << what;
  double largest = 0.0, difference = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    largest = std::max(largest, std::abs(a[k]));
    difference = std::max(difference, std::abs(a[k] - b[k]));
  }
  EXPECT_GT(largest, 0.0) << what;
  EXPECT_LE(difference, tolerance * largest) << what;
}

}  // namespace dptrain::test
