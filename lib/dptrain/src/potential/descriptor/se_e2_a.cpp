#include "potential/descriptor/se_e2_a.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/memory.h"
#include "potential/descriptor/embedding_nets.h"
#include "potential/nets/networks.h"

namespace dptrain {
namespace {

// Where the table ends before any distance is known, and the margin below a known one, in Angstrom and as a factor.
constexpr double unknown_min_distance = 0.5;
constexpr double distance_margin = 0.9;

constexpr int rows = kernels::Environment<double>::rows;

std::vector<double> padding_arguments(const ModelData &data)
{
  std::vector<double> p;
  for (int t = 0; t < data.config.ntypes(); ++t) p.push_back(-data.davg[4 * t] / data.dstd[4 * t]);
  return p;
}

// By center type.
template <class Real> std::vector<kernels::Environment<Real>> environments(const ModelData &data)
{
  const auto &c = data.config;
  std::vector<kernels::Environment<Real>> all;
  for (int t = 0; t < c.ntypes(); ++t) {
    const double *avg = &data.davg[4 * t], *std = &data.dstd[4 * t];
    all.emplace_back(c.rcut, c.rcut_smth, c.env_protection, avg[0], std[0], std[1]);
  }
  return all;
}

const std::string embeddings = "/model/descriptor/embeddings";

NetworkShape embedding_shape(const ModelConfig &config)
{
  NetworkShape shape;
  shape.hidden = config.neuron;
  shape.activation = config.activation;
  shape.resnet_dt = config.resnet_dt;
  return shape;
}

// In the order of files: by type of the neighbor, or center + neighbor * ntypes.
int num_embeddings(const ModelConfig &config)
{
  return config.type_one_side ? config.ntypes() : config.ntypes() * config.ntypes();
}

std::unique_ptr<RadialFunctions> embedding_nets(const ModelConfig &config)
{
  std::vector<ParameterBlock> blocks;
  add_embedding_blocks(config, blocks);
  return std::make_unique<EmbeddingNets>(
      networks(embeddings, num_embeddings(config), embedding_shape(config), blocks));
}

double first_distance(const ModelData &data)
{
  return data.min_nbor_dist ? distance_margin * *data.min_nbor_dist : unknown_min_distance;
}

}  // namespace

void add_embedding_blocks(const ModelConfig &config, std::vector<ParameterBlock> &blocks)
{
  const NetworkShape shape = embedding_shape(config);
  const std::vector<bool> trainable(shape.num_layers(), config.trainable);
  add_network_blocks(embeddings, num_embeddings(config), shape, trainable, blocks);
}

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
    config_(data.config),
    channels_(config_.neuron.back()),
    axis_(config_.axis_neuron),
    environment_(environments<Real>(data)),
    double_environment_(environments<double>(data)),
    padding_args_(padding_arguments(data)),
    scale_(1.0 / std::accumulate(config_.sel.begin(), config_.sel.end(), 0)),
    table_(embedding_nets(config_), padding_args_,
           *std::min_element(padding_args_.begin(), padding_args_.end()),
           largest_argument(first_distance(data)), data.knots),
    device_ways_(kernels::separate_memory())
{
}

template <class Real> double SeE2A<Real>::largest_argument(double distance) const
{
  double largest = -HUGE_VAL;
  for (const auto &e : double_environment_)
    largest = std::max(largest, kernels::edge_value(e, distance, 0.0, 0.0).arg);
  return largest;
}

template <class Real> EdgeLimits SeE2A<Real>::edge_limits() const
{
  EdgeLimits limits;
  limits.rcut = config_.rcut;
  limits.sel = config_.sel;
  limits.dropped = config_.exclude_types;
  limits.hidden = config_.pair_exclude_types;
  return limits;
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

template <class Real> void SeE2A<Real>::refill(const double *parameters)
{
  parameters_ = parameters;
  table_.refill(parameters);
}

template <class Real> DescriptorBase::Reach SeE2A<Real>::reach(double distance)
{
  const double upper = largest_argument(distance);
  if (table_.reaches(upper)) return DescriptorBase::Reach::enough;
  // with a margin: atoms that come closer from step to step would need a new table at each
  const bool extended = expect_distance(distance) || table_.extend(parameters_, upper);
  return extended ? DescriptorBase::Reach::extended : DescriptorBase::Reach::direct;
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
  return {state.contraction.edges.num_centers, table_.width(), channels_, axis_};
}

template <class Real> void SeE2A<Real>::value(DescriptorState<Real> &base, Real *d)
{
  auto &state = static_cast<State &>(base);
  auto &c = state.contraction;
  c.edges = state.edges.edges();
  c.row = environment_[state.type];
  c.scale = static_cast<Real>(scale_);
  c.padding_arg = static_cast<Real>(padding_args_[state.type]);
  c.padding_row = state.type;
  c.first_net = config_.type_one_side ? 0 : state.type;
  c.net_step = config_.type_one_side ? 1 : config_.ntypes();
  table_.set_table(parameters_, c, state.edges.num_slots());
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
  if (device_ways_ && !c.table.direct)
    knot_gradient_.add(c, r, strains, s_t, state.g_t.data(), table_.table_gradient());
  else
    kernels::contraction_gradient(c, r, strains, s_t, state.g_t.data(), table_.table_gradient(),
                                  table_.gradient_copies());
  table_.end_chunk(parameters_, gradient_);
}

template class SeE2A<double>;
template class SeE2A<float>;

}  // namespace dptrain
