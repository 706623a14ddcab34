#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "host_edges.h"
#include "input/model_keys.h"
#include "potential/terms/energy_term_type.h"

// A term of the energy with parameters, to show what one needs. For center i of type a and its neighbors j of types b
//   E_i = 1/2 sum_j k_ab phi(r_ij),  phi(r) = exp(-r) (1 - (r / reach)^2)^3
// with parameters k. Its loops run on the host.

namespace dptrain::test {

class ExponentialConfig final : public EnergyTermConfig {
 public:
  std::string type() const override { return "exponentials"; }
  std::unique_ptr<EnergyTermConfig> clone() const override
  {
    return std::make_unique<ExponentialConfig>(*this);
  }
  double cutoff() const override { return reach; }
  bool has_parameters() const override { return true; }
  std::string text() const override { return fmt::format("exponentials to {:g} Angstrom", reach); }
  const Keys<EnergyTermConfig> &table() const override
  {
    static const Keys<EnergyTermConfig> keys{
        Key<EnergyTermConfig>("reach", &ExponentialConfig::reach, positive_length)};
    return keys;
  }

  double reach = 3.0;  ///< Angstrom
};

template <class Real> class ExponentialTerm final : public EnergyTerm<Real> {
 public:
  using State = typename EnergyTerm<Real>::State;

  ExponentialTerm(const ModelData &data, const ExponentialConfig &config,
                  const ParameterBlock &block) :
      ntypes_(data.config.ntypes()), reach_(config.reach), begin_(block.offset)
  {
  }
  std::optional<EdgeLimits> edge_limits() const override { return EdgeLimits{reach_}; }
  std::unique_ptr<State> make_state() const override { return std::make_unique<State>(); }
  bool has_parameters() const override { return true; }
  void prepare(const double *parameters) override { k_ = on_host(parameters + begin_, square()); }

  void value(int type, const EdgeChunk<Real> &chunk, bool, State &, double *energies) override
  {
    if (!energies) return;
    const HostEdges edges(chunk);
    std::vector<double> sum = on_host(energies, edges.num_centers());
    edges.for_each([&](int i, int e, const double *, double r) {
      sum[i] += 0.5 * k_[place(type, edges.type[e])] * phi(r)[0];
    });
    kernels::copy_in(energies, sum.data(), sum.size() * sizeof(double));
  }
  void reverse(int type, const EdgeChunk<Real> &chunk, const Real *seeds, State &,
               const kernels::ForceSums *sums) override
  {
    if (!sums) return;
    const HostEdges edges(chunk);
    std::vector<Real> weight(edges.num_centers(), Real(1));
    if (seeds) weight = on_host(seeds, weight.size());
    edges.add_forces(*sums, [&](int i, int e, double r) {
      return weight[i] * 0.5 * k_[place(type, edges.type[e])] * phi(r)[1];
    });
  }

  void begin_gradient(double *gradient) override
  {
    target_ = gradient + begin_;
    gradient_.assign(square(), 0.0);
  }
  void gradient(int type, const EdgeChunk<Real> &chunk, const Real *c, const Direction &direction,
                State &) override
  {
    const HostEdges edges(chunk);
    const std::vector<Real> weight = on_host(c, edges.num_centers());
    edges.for_tangents(direction, [&](int i, int e, double r, double r_dot) {
      const auto [value, slope] = phi(r);
      gradient_[place(type, edges.type[e])] += 0.5 * (weight[i] * value - slope * r_dot);
    });
  }
  void end_gradient() override
  {
    kernels::copy_in(target_, gradient_.data(), gradient_.size() * sizeof(double));
  }

 private:
  std::size_t square() const { return static_cast<std::size_t>(ntypes_) * ntypes_; }
  std::size_t place(int a, int b) const { return static_cast<std::size_t>(a) * ntypes_ + b; }
  /// phi and its derivative; the edges may reach farther than the term.
  std::array<double, 2> phi(double r) const
  {
    if (r >= reach_) return {0.0, 0.0};
    const double x = r / reach_, y = 1.0 - x * x, e = std::exp(-r);
    return {e * y * y * y, -e * (y * y * y + 6.0 * x / reach_ * y * y)};
  }

  const int ntypes_;
  const double reach_;
  const std::size_t begin_;
  std::vector<double> k_, gradient_;
  double *target_ = nullptr;
};

class ExponentialType final : public EnergyTermType {
 public:
  std::string name() const override { return "exponentials"; }
  std::unique_ptr<EnergyTermConfig> make_config() const override
  {
    return std::make_unique<ExponentialConfig>();
  }
  void add_blocks(const ModelConfig &model, const EnergyTermConfig &, const std::string &place,
                  std::vector<ParameterBlock> &blocks) const override
  {
    ParameterBlock block;
    block.name = place + "/k";
    block.shape = {model.ntypes(), model.ntypes()};
    block.size = static_cast<std::size_t>(model.ntypes()) * model.ntypes();
    blocks.push_back(block);
  }
  void draw(const ModelConfig &, const EnergyTermConfig &, const ParameterBlock &block,
            RandomEngine &engine, double *values) const override
  {
    for (std::size_t k = 0; k < block.size; ++k) values[k] = random_normal(engine);
  }
  std::unique_ptr<EnergyTerm<double>>
  make_double(const ModelData &data, const EnergyTermConfig &own,
              const std::vector<ParameterBlock> &blocks) const override
  {
    return make<double>(data, own, blocks);
  }
  std::unique_ptr<EnergyTerm<float>>
  make_single(const ModelData &data, const EnergyTermConfig &own,
              const std::vector<ParameterBlock> &blocks) const override
  {
    return make<float>(data, own, blocks);
  }

 private:
  template <class Real>
  static std::unique_ptr<EnergyTerm<Real>> make(const ModelData &data, const EnergyTermConfig &own,
                                                const std::vector<ParameterBlock> &blocks)
  {
    return std::make_unique<ExponentialTerm<Real>>(
        data, dynamic_cast<const ExponentialConfig &>(own), blocks.at(0));
  }
};

}  // namespace dptrain::test
