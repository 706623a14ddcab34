#include "potential/descriptor/se_e2_a.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/memory.h"
#include "potential/descriptor/embedding_nets.h"
#include "potential/descriptor/se_e2_a_type.h"

namespace dptrain {
namespace {

// Where the table ends before any distance is known, and the margin below a known one, in Angstrom and as a factor.
constexpr double unknown_min_distance = 0.5;
constexpr double distance_margin = 0.9;

constexpr int rows = kernels::Environment<double>::rows;

const double *davg(const ModelData &data, int type)
{
  return &data.descriptor_constants.at("davg").at(4 * static_cast<std::size_t>(type));
}

const double *dstd(const ModelData &data, int type)
{
  return &data.descriptor_constants.at("dstd").at(4 * static_cast<std::size_t>(type));
}

std::vector<double> padding_arguments(const ModelData &data)
{
  std::vector<double> p;
  for (int t = 0; t < data.config.ntypes(); ++t) p.push_back(-davg(data, t)[0] / dstd(data, t)[0]);
  return p;
}

// By center type.
template <class Real> std::vector<kernels::Environment<Real>> environments(const ModelData &data)
{
  const SeE2AConfig &c = se_e2_a(data.config);
  std::vector<kernels::Environment<Real>> all;
  for (int t = 0; t < data.config.ntypes(); ++t) {
    const double *std = dstd(data, t);
    all.emplace_back(data.config.rcut, c.rcut_smth, c.env_protection, davg(data, t)[0], std[0],
                     std[1]);
  }
  return all;
}

EdgeLimits limits_of(const ModelConfig &model)
{
  EdgeLimits limits;
  limits.rcut = model.rcut;
  limits.sel = se_e2_a(model).sel;
  limits.dropped = se_e2_a(model).exclude_types;
  limits.hidden = model.pair_exclude_types;
  return limits;
}

double first_distance(const ModelData &data)
{
  return data.min_nbor_dist ? distance_margin * *data.min_nbor_dist : unknown_min_distance;
}

}  // namespace

template <class Real> struct SeE2A<Real>::State : DescriptorState<Real> {
  kernels::Contraction<Real> contraction;
  kernels::Array<Real> t, g_t;
  std::size_t memory_bytes() const override
  {
    return DescriptorState<Real>::memory_bytes() + t.memory_bytes() + g_t.memory_bytes();
  }
};

template <class Real>
SeE2A<Real>::SeE2A(const ModelData &data) :
    ntypes_(data.config.ntypes()),
    config_(se_e2_a(data.config)),
    limits_(limits_of(data.config)),
    environment_(environments<Real>(data)),
    double_environment_(environments<double>(data)),
    padding_args_(padding_arguments(data)),
    scale_(1.0 / std::accumulate(config_.sel.begin(), config_.sel.end(), 0)),
    table_(std::make_unique<EmbeddingNets>(SeE2AType::nets(data.config)), padding_args_,
           *std::min_element(padding_args_.begin(), padding_args_.end()),
           largest_argument(first_distance(data)), data.knots),
    device_algorithms_(kernels::separate_memory())
{
}

template <class Real> double SeE2A<Real>::largest_argument(double distance) const
{
  double largest = -HUGE_VAL;
  for (const auto &e : double_environment_)
    largest = std::max(largest, kernels::edge_value(e, distance, 0.0, 0.0).arg);
  return largest;
}

template <class Real> std::size_t SeE2A<Real>::bytes_per_center() const
{
  constexpr std::size_t arrays_of_t = 4;
  return arrays_of_t * rows * table_.width() * sizeof(Real);
}

template <class Real> void SeE2A<Real>::prepare(const double *parameters)
{
  parameters_ = parameters;
  table_.build(parameters);
}

template <class Real> DescriptorBase::Coverage SeE2A<Real>::coverage(double distance)
{
  const double upper = largest_argument(distance);
  if (table_.reaches(upper)) return DescriptorBase::Coverage::covered;
  // with a margin: atoms that come closer from step to step would need a new table at each
  const bool extended = expect_distance(distance) || table_.extend(parameters_, upper);
  return extended ? DescriptorBase::Coverage::extended : DescriptorBase::Coverage::exact;
}

template <class Real> bool SeE2A<Real>::expect_distance(double distance)
{
  return table_.extend(parameters_, largest_argument(distance_margin * distance));
}

template <class Real> std::size_t SeE2A<Real>::workspace_bytes() const
{
  return knot_gradient_.memory_bytes() + t_dot_.memory_bytes() + s_t_.memory_bytes();
}

template <class Real> void SeE2A<Real>::release_workspace()
{
  knot_gradient_ = KnotGradient<Real>();
  t_dot_.clear();
  s_t_.clear();
}

template <class Real> std::unique_ptr<DescriptorState<Real>> SeE2A<Real>::make_state() const
{
  return std::make_unique<State>();
}

template <class Real> kernels::GramShape SeE2A<Real>::shape(const State &state) const
{
  return {state.contraction.edges.num_centers, table_.width(), config_.neuron.back(),
          config_.axis_neuron};
}

template <class Real> void SeE2A<Real>::value(DescriptorState<Real> &base, Real *d)
{
  auto &state = static_cast<State &>(base);
  auto &c = state.contraction;
  c.edges = state.edges->edges();
  c.row = environment_[state.type];
  c.scale = static_cast<Real>(scale_);
  c.padding_arg = static_cast<Real>(padding_args_[state.type]);
  c.padding_row = state.type;
  c.first_net = config_.type_one_side ? 0 : state.type;
  c.net_step = config_.type_one_side ? 1 : ntypes_;
  table_.set_table(parameters_, c, state.edges->num_slots());
  Real *t = state.t.resize(static_cast<long>(rows) * c.edges.num_centers * table_.width());
  kernels::contraction_value(c, t);
  kernels::gram_value<rows>(shape(state), t, d);
}

template <class Real>
void SeE2A<Real>::reverse(DescriptorState<Real> &base, const Real *g_d,
                          const kernels::ForceSums *sums)
{
  auto &state = static_cast<State &>(base);
  Real *g_t = state.g_t.resize(state.t.size());
  kernels::gram_reverse<rows>(shape(state), state.t.data(), g_d, g_t);
  if (sums) kernels::contraction_reverse(state.contraction, g_t, *sums);
}

template <class Real> void SeE2A<Real>::begin_gradient(bool direct, double *gradient)
{
  gradient_ = gradient;
  table_.begin_sweep(direct, true);
}

template <class Real>
void SeE2A<Real>::jvp(DescriptorState<Real> &base, const Direction &direction, Real *d_dot)
{
  auto &state = static_cast<State &>(base);
  Real *t_dot = t_dot_.resize(state.t.size());
  kernels::contraction_jvp(state.contraction, direction.residuals, direction.strains, t_dot);
  kernels::gram_jvp<rows>(shape(state), state.t.data(), t_dot, d_dot);
}

template <class Real>
void SeE2A<Real>::gradient(DescriptorState<Real> &base, const Direction &direction, const Real *s_d,
                           const Real *e_d)
{
  auto &state = static_cast<State &>(base);
  const auto &c = state.contraction;
  Real *s_t = s_t_.resize(state.t.size());
  kernels::gram_jvp_reverse<rows>(shape(state), state.t.data(), t_dot_.data(), s_d, e_d, s_t);
  const double *r = direction.residuals, *strains = direction.strains;
  if (device_algorithms_ && !c.table.direct)
    knot_gradient_.add(c, r, strains, s_t, state.g_t.data(), table_.table_gradient());
  else
    kernels::contraction_gradient(c, r, strains, s_t, state.g_t.data(), table_.table_gradient(),
                                  table_.gradient_copies());
  table_.end_chunk(parameters_, gradient_);
}

template class SeE2A<double>;
template class SeE2A<float>;

}  // namespace dptrain
