#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "host_edges.h"
#include "input/model_keys.h"
#include "potential/descriptor/descriptor_type.h"

// A second descriptor, to show what one needs. For center i of type a and its neighbors j of types b within rcut
//   D_n = s sum_j c_abn phi_n(r_ij),  phi_n(r) = exp(-eta_n r^2) (1 - (r / rcut)^2)^3
// with parameters c and a constant s, one over the mean number of neighbors. Its loops run on the host.

namespace dptrain::test {

class GaussianConfig final : public DescriptorConfig {
 public:
  std::string type() const override { return "gaussians"; }
  std::unique_ptr<DescriptorConfig> clone() const override
  {
    return std::make_unique<GaussianConfig>(*this);
  }
  int size() const override { return static_cast<int>(eta.size()); }
  const Keys<DescriptorConfig> &table() const override
  {
    static const Keys<DescriptorConfig> keys{
        Key<DescriptorConfig>("eta", &GaussianConfig::eta),
    };
    return keys;
  }
  void complete(JsonReader &section, ModelConfig &) override
  {
    if (eta.empty()) section.expected("eta", "a list of at least one number");
  }

  std::vector<double> eta{0.1, 0.3, 0.6, 1.0};  ///< 1/Angstrom^2
};

template <class Real> class GaussianDescriptor final : public Descriptor<Real> {
  using State = DescriptorState<Real>;
  void put(const std::vector<double> &values, Real *target) const
  {
    const std::vector<Real> rounded(values.begin(), values.end());
    kernels::copy_in(target, rounded.data(), rounded.size() * sizeof(Real));
  }
  std::vector<double> get(const Real *source, std::size_t n) const
  {
    const std::vector<Real> values = on_host(source, n);
    return {values.begin(), values.end()};
  }
  /// phi_n and its derivative.
  std::array<double, 2> phi(int n, double r) const
  {
    const double x = r / rcut_, y = 1.0 - x * x, g = std::exp(-config_.eta[n] * r * r);
    return {g * y * y * y, g * (-2.0 * config_.eta[n] * r * y * y * y - 6.0 * x / rcut_ * y * y)};
  }
  int size() const { return config_.size(); }
  std::size_t place(int center_type, int type, int n) const
  {
    return (static_cast<std::size_t>(center_type) * ntypes_ + type) * size() + n;
  }

 public:
  explicit GaussianDescriptor(const ModelData &data) :
      config_(dynamic_cast<const GaussianConfig &>(*data.config.descriptor.get())),
      ntypes_(data.config.ntypes()),
      rcut_(data.config.rcut),
      scale_(data.descriptor_constants.at("scale").at(0)),
      hidden_(data.config.pair_exclude_types)
  {
  }

  EdgeLimits edge_limits() const override
  {
    EdgeLimits limits;
    limits.rcut = rcut_;
    limits.usual_neighbors = 4;  // fewer than there are: lists of a device must grow
    limits.hidden = hidden_;
    return limits;
  }
  std::size_t bytes_per_center() const override { return size() * sizeof(double); }
  void prepare(const double *parameters) override
  {
    c_ = on_host(parameters, static_cast<std::size_t>(ntypes_) * ntypes_ * size());
  }
  std::unique_ptr<State> make_state() const override { return std::make_unique<State>(); }

  void value(State &state, Real *d) override
  {
    const HostEdges edges(*state.edges);
    std::vector<double> sum(edges.num_centers() * size(), 0.0);
    edges.for_each([&](int i, int e, const double *, double r) {
      for (int n = 0; n < size(); ++n)
        sum[i * size() + n] += scale_ * c_[place(state.type, edges.type[e], n)] * phi(n, r)[0];
    });
    put(sum, d);
  }
  void reverse(State &state, const Real *g_d, const kernels::ForceSums *sums) override
  {
    if (!sums) return;
    const HostEdges edges(*state.edges);
    const std::vector<double> g = get(g_d, edges.num_centers() * size());
    edges.add_forces(*sums, [&](int i, int e, double r) {
      double along = 0.0;
      for (int n = 0; n < size(); ++n)
        along +=
            g[i * size() + n] * scale_ * c_[place(state.type, edges.type[e], n)] * phi(n, r)[1];
      return along;
    });
  }

  void begin_gradient(bool, double *gradient) override
  {
    target_ = gradient;
    gradient_.assign(c_.size(), 0.0);
  }
  void jvp(State &state, const Direction &direction, Real *d_dot) override
  {
    const HostEdges edges(*state.edges);
    std::vector<double> sum(edges.num_centers() * size(), 0.0);
    edges.for_tangents(direction, [&](int i, int e, double r, double r_dot) {
      for (int n = 0; n < size(); ++n)
        sum[i * size() + n] +=
            scale_ * c_[place(state.type, edges.type[e], n)] * phi(n, r)[1] * r_dot;
    });
    put(sum, d_dot);
  }
  void gradient(State &state, const Direction &direction, const Real *s_d, const Real *e_d) override
  {
    const HostEdges edges(*state.edges);
    const std::vector<double> s = get(s_d, edges.num_centers() * size()),
                              g = get(e_d, edges.num_centers() * size());
    edges.for_tangents(direction, [&](int i, int e, double r, double r_dot) {
      for (int n = 0; n < size(); ++n) {
        const auto [value, slope] = phi(n, r);
        gradient_[place(state.type, edges.type[e], n)] +=
            scale_ * (s[i * size() + n] * value - g[i * size() + n] * slope * r_dot);
      }
    });
  }
  void end_gradient() override
  {
    kernels::copy_in(target_, gradient_.data(), gradient_.size() * sizeof(double));
  }

 private:
  const GaussianConfig config_;
  const int ntypes_;
  const double rcut_, scale_;
  const std::vector<std::array<int, 2>> hidden_;
  std::vector<double> c_, gradient_;
  double *target_ = nullptr;
};

class GaussianType final : public DescriptorType {
 public:
  std::vector<std::string> names() const override { return {"gaussians"}; }
  std::unique_ptr<DescriptorConfig> make_config() const override
  {
    return std::make_unique<GaussianConfig>();
  }
  DescriptorConstants constants(const ModelConfig &, const Statistics &found) const override
  {
    return {{"scale", {1.0 / std::max(1.0, found.mean_neighbors())}}};
  }
  void add_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks) const override
  {
    ParameterBlock block;
    block.name = "/model/descriptor/@variables/c";
    block.shape = {model.ntypes(), model.ntypes(), model.descriptor->size()};
    block.size =
        static_cast<std::size_t>(model.ntypes()) * model.ntypes() * model.descriptor->size();
    block.trainable = model.descriptor->trainable;
    blocks.push_back(block);
  }
  void draw(const ModelConfig &, const ParameterBlock &block, RandomEngine &engine,
            double *values) const override
  {
    for (std::size_t k = 0; k < block.size; ++k) values[k] = random_normal(engine);
  }
  std::unique_ptr<Descriptor<double>> make_double(const ModelData &data) const override
  {
    return std::make_unique<GaussianDescriptor<double>>(data);
  }
  std::unique_ptr<Descriptor<float>> make_single(const ModelData &data) const override
  {
    return std::make_unique<GaussianDescriptor<float>>(data);
  }
};

}  // namespace dptrain::test
