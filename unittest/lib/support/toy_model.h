#pragma once

#include <cmath>

#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/memory.h"

namespace dptrain::test {

/// A pair potential with parameters, for tests of what surrounds a model. For the two types of center and neighbor
/// E_i = bias + 1/2 sum_j A exp(-b r^2) w(r), w = (1 - r^2/rc^2)^3, parameters A and b of each ordered pair of types,
/// so that E_i depends on the type of the center as a network does. Everything in closed form.
class ToyModel : public Model {
 public:
  explicit ToyModel(double rcut = 3.0) : Model(content(rcut), blocks(), {1, 1}) {}
  /// Atoms of this type have no energy.
  void exclude(int type) { has_energy_[type] = 0; }

  void set_walls(const Walls &walls) override { data_.walls = walls; }
  void expect_distances(const PairDistances &closest) override
  {
    expected = std::min(expected, closest.smallest());
  }

  void set_precision(Precision) override {}

  void forward_one(const Domain &domain, ForwardOutput &out)
  {
    if (fail) throw Error("the toy model was told to fail");
    for (int k = 0; k < domain.num_centers; ++k) {
      const int i = domain.centers[k];
      if (domain.type[i] < 0 || !has_energy(domain.type[i])) continue;
      double energy = 0.0;
      for_each_pair(domain, i, [&](int j, const double *d, double r, const double *p) {
        const Pair f(p, r, cutoff());
        energy += 0.5 * f.value;
        for (int a = 0; a < 3; ++a) {
          const double g = 0.5 * f.slope * d[a] / r;  // dE/dd
          out.force[3 * i + a] += g;
          out.force[3 * j + a] -= g;
          for (int b = 0; b < 3; ++b) out.virial[3 * a + b] -= g * d[b];
        }
      });
      out.energy += energy + energy_bias()[domain.type[i]];
      out.network_energy += energy;
      if (out.atom_energy) out.atom_energy[i] = energy + energy_bias()[domain.type[i]];
    }
  }

  // S = sum c_i E_i - E_dot(v) with edge velocities v = r_j - r_i + C d
  void gradient_one(const Domain &domain, const GradientSeed &seed, double *gradient)
  {
    for (int k = 0; k < domain.num_centers; ++k) {
      const int i = domain.centers[k];
      if (domain.type[i] < 0 || !has_energy(domain.type[i])) continue;
      const double weight = seed.energy + (seed.atom_energy ? seed.atom_energy[i] : 0.0);
      for_each_pair(domain, i, [&](int j, const double *d, double r, const double *p) {
        const Pair f(p, r, cutoff());
        double speed = 0.0;  // dr/dt
        for (int a = 0; a < 3; ++a) {
          double v = seed.force ? seed.force[3 * j + a] - seed.force[3 * i + a] : 0.0;
          for (int b = 0; b < 3; ++b) v += seed.virial[3 * a + b] * d[b];
          speed += v * d[a] / r;
        }
        double *g = gradient + (p - parameters().values().data());
        for (int n = 0; n < 2; ++n) g[n] += 0.5 * (weight * f.value_by[n] - speed * f.slope_by[n]);
      });
    }
  }
  void set_chunk(int) override {}
  std::vector<double> auxiliary_state() const override { return {}; }
  void set_auxiliary_state(const std::vector<double> &) override {}
  NeighborReport neighbor_report() const override { return {}; }
  MemoryLedger memory() const override { return {}; }
  void release_workspace() override {}

  bool fail = false;
  double expected = HUGE_VAL;  ///< smallest distance announced

 private:
  static ModelData content(double rcut)
  {
    ModelData data;
    data.config.rcut = rcut;
    data.config.type_map = {"A", "B"};
    data.out_bias = {0.0, 0.0};
    data.parameters = {1.0, 0.3, -0.7, 0.5, 0.4, 0.2, 1.5, 0.35};
    return data;
  }
  static std::vector<ParameterBlock> blocks()
  {
    std::vector<ParameterBlock> blocks;
    for (int pair = 0; pair < 4; ++pair) {
      blocks.push_back({"amplitude" + std::to_string(pair), {1}, std::size_t(2 * pair), 1, true});
      blocks.push_back({"width" + std::to_string(pair), {1}, std::size_t(2 * pair + 1), 1, true});
    }
    return blocks;
  }

  struct ToyTape : Tape {
    using Tape::Tape;
    std::vector<Domain> domains;
  };

  std::unique_ptr<Tape> pass_a(const Domain *domains, int n, ForwardOutput *out, bool keep) override
  {
    for (int k = 0; k < n; ++k) forward_one(domains[k], out[k]);
    if (!keep) return nullptr;
    auto tape = std::make_unique<ToyTape>(parameters().version());
    tape->domains.assign(domains, domains + n);
    return tape;
  }
  void pass_b(Tape &tape, const GradientSeed *seeds, double *gradient) override
  {
    std::vector<double> sum(parameters().size(), 0.0);
    for (const Domain &domain : dynamic_cast<ToyTape &>(tape).domains)
      gradient_one(domain, *seeds++, sum.data());
    kernels::copy_in(gradient, sum.data(), sum.size() * sizeof(double));
  }

  /// phi = A exp(-b r^2) w(r), its slope in r, and both differentiated by A and b.
  struct Pair {
    Pair(const double *p, double r, double rc)
    {
      const double u = 1 - r * r / (rc * rc), w = u * u * u, dw = -6 * r / (rc * rc) * u * u;
      const double e = std::exp(-p[1] * r * r), slope = e * (dw - 2 * p[1] * r * w);
      value = p[0] * e * w;
      value_by[0] = e * w;
      value_by[1] = -r * r * value;
      this->slope = p[0] * slope;
      slope_by[0] = slope;
      slope_by[1] = p[0] * (-r * r * slope - 2 * r * w * e);
    }
    double value, slope, value_by[2], slope_by[2];
  };

  template <class Visit> void for_each_pair(const Domain &domain, int i, Visit visit) const
  {
    for (int n = 0; n < domain.num_neighbors[i]; ++n) {
      const int j = domain.neighbors[i][n] & domain.neighbor_mask;
      double d[3], r = 0.0;
      for (int c = 0; c < 3; ++c) {
        d[c] = domain.x[3 * j + c] - domain.x[3 * i + c];
        r += d[c] * d[c];
      }
      r = std::sqrt(r);
      if (r < cutoff())
        visit(j, d, r, &parameters().values()[2 * (2 * domain.type[i] + domain.type[j])]);
    }
  }
};

}  // namespace dptrain::test
