#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/gram.h"
#include "potential/descriptor/descriptor.h"
#include "potential/descriptor/knot_gradient.h"
#include "potential/descriptor/radial_table.h"

namespace dptrain {

/// DeePMD-kit's se_e2_a: T = scale * sum over the edges of row (x) G(first number of the row), G the embedding net of the pair
/// of types, read from a table; D = T^T T_<. Nothing is stored per edge but neighbor and distance vector.
template <class Real> class SeE2A final : public Descriptor<Real> {
 public:
  explicit SeE2A(const ModelData &data);

  EdgeLimits edge_limits() const override { return limits_; }
  std::size_t bytes_per_center() const override;
  void prepare(const double *parameters) override;
  std::vector<double> auxiliary_state() const override { return table_.state(); }
  void set_auxiliary_state(const std::vector<double> &state) override { table_.set_state(state); }
  void check_tables() override { table_.check(parameters_); }
  std::vector<double> arguments() const override { return table_.arguments(); }
  DescriptorBase::Coverage coverage(double distance) override;
  bool expect_distance(double distance) override;
  bool is_direct() const override { return table_.direct(); }
  std::size_t bytes_per_direct_slot() const override { return table_.bytes_per_direct_slot(); }
  void use_device_algorithms(bool on) override { device_algorithms_ = on; }
  std::size_t table_bytes() const override { return table_.memory_bytes(); }
  std::size_t workspace_bytes() const override;
  void release_workspace() override;

  std::unique_ptr<DescriptorState<Real>> make_state() const override;
  void begin_sweep(bool direct) override { table_.begin_sweep(direct, false); }
  void value(DescriptorState<Real> &state, Real *d) override;
  void reverse(DescriptorState<Real> &state, const Real *g_d,
               const kernels::ForceSums *sums) override;
  void begin_gradient(bool direct, double *gradient) override;
  void jvp(DescriptorState<Real> &state, const Direction &direction, Real *d_dot) override;
  void gradient(DescriptorState<Real> &state, const Direction &direction, const Real *s_d,
                const Real *e_d) override;
  void flush_gradient() override { table_.flush(); }
  void end_gradient() override { table_.end_gradient(parameters_, gradient_); }

  int knots() const { return table_.knots(); }
  /// As RadialTable::error.
  std::pair<double, double> table_error() { return table_.error(parameters_); }

 private:
  struct State;
  double largest_argument(double distance) const;
  kernels::GramShape shape(const State &state) const;

  const int ntypes_;
  const SeE2AConfig config_;
  const EdgeLimits limits_;
  std::vector<kernels::Environment<Real>> environment_;  // by center type
  std::vector<kernels::Environment<double>> double_environment_;
  const std::vector<double> padding_args_;  // by center type
  const double scale_;
  RadialTable<Real> table_;
  bool device_algorithms_;
  const double *parameters_ = nullptr;
  double *gradient_ = nullptr;
  KnotGradient<Real> knot_gradient_;
  kernels::Array<Real> t_dot_, s_t_;
};

}  // namespace dptrain
