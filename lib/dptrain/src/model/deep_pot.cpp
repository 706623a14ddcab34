#include "model/deep_pot.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dptrain/error.h"
#include "dptrain/files.h"
#include "kernels/contraction.h"
#include "kernels/pair_sum.h"
#include "kernels/runtime.h"
#include "model/networks.h"

namespace dptrain {
namespace {

// Where the table ends before any distance is known, and the margin below a known one, in Angstrom and as a factor.
constexpr double unknown_min_distance = 0.5;
constexpr double distance_margin = 0.9;

void add(const std::vector<std::array<int, 2>> &pairs, int ntypes, std::vector<char> &flags)
{
  for (const auto &[a, b] : pairs) flags[a * ntypes + b] = flags[b * ntypes + a] = 1;
}

}  // namespace

DeepPot::DeepPot(ModelData data) :
    data_(std::move(data)), index_(dptrain::parameter_index(data_.config))
{
  ensure_runtime();
  const auto &c = data_.config;
  for (int t = 0; t < c.ntypes(); ++t)
    environment_.push_back({c.rcut, c.rcut_smth, c.env_protection, data_.davg[4 * t],
                            data_.dstd[4 * t], data_.dstd[4 * t + 1]});
  make_rules();
  fitting_ = fitting_networks(c, index_);
  double origin = rules_.padding_arg[0];
  for (double p : rules_.padding_arg) origin = std::min(origin, p);
  const double r =
      data_.min_nbor_dist ? distance_margin * *data_.min_nbor_dist : unknown_min_distance;
  table_ = EmbeddingTable(embedding_networks(c, index_), origin, largest_argument(r), data_.knots);
  centers_by_type_.resize(c.ntypes());
}

void DeepPot::make_rules()
{
  const auto &c = data_.config;
  const int n = c.ntypes();
  rules_.rcut = c.rcut;
  rules_.ntypes = n;
  rules_.sel = c.sel;
  rules_.type_one_side = c.type_one_side;
  rules_.dropped.assign(n * n, 0);
  rules_.hidden.assign(n * n, 0);
  add(c.exclude_types, n, rules_.dropped);
  add(c.pair_exclude_types, n, rules_.hidden);
  for (const auto &e : environment_) rules_.padding_arg.push_back(-e.davg / e.dstd_radial);
}

double DeepPot::largest_argument(double r) const
{
  double largest = -HUGE_VAL;
  for (const auto &e : environment_) {
    const double s = kernels::radial_switch(r, e.rcut, e.rcut_smth, e.protection);
    largest = std::max(largest, (s - e.davg) / e.dstd_radial);
  }
  return largest;
}

void DeepPot::set_parameters(const std::vector<double> &values)
{
  if (values.size() != data_.parameters.size())
    throw Error("the model has " + std::to_string(data_.parameters.size()) + " parameters, " +
                std::to_string(values.size()) + " were given");
  data_.parameters = values;
  ++version_;
}

void DeepPot::change_parameters(const std::function<void(std::vector<double> &)> &change)
{
  ++version_;  // first: also where `change` throws halfway
  change(data_.parameters);
}

void DeepPot::set_energy_bias(const std::vector<double> &bias)
{
  data_.out_bias = bias;
}

void DeepPot::prepare()
{
  if (prepared_version_ == version_) return;
  table_.build(data_.parameters.data());
  prepare_vacuum_energies();
  prepared_version_ = version_;
}

void DeepPot::expect_distance(double r_min)
{
  prepare();
  table_.extend(data_.parameters.data(), largest_argument(distance_margin * r_min));
}

bool DeepPot::subtracts_vacuum(int type) const
{
  const auto &atom_ener = data_.config.atom_ener;
  return !atom_ener.empty() && atom_ener[type].has_value();
}

void DeepPot::prepare_vacuum_energies()
{
  vacuum_energy_.assign(fitting_.size(), 0.0);
  for (std::size_t t = 0; t < fitting_.size(); ++t) {
    if (!subtracts_vacuum(static_cast<int>(t))) continue;
    const std::vector<double> zero(fitting_[t].inputs(), 0.0);
    vacuum_energy_[t] =
        *fitting_[t].forward(data_.parameters.data(), 1, 0, zero.data(), workspace_);
  }
}

void DeepPot::sort_centers(const Domain &domain)
{
  for (auto &list : centers_by_type_) list.clear();
  for (int k = 0; k < domain.num_centers; ++k) {
    const int i = domain.centers[k], type = domain.type[i];
    if (type >= 0) centers_by_type_[type].push_back(i);
  }
  for (int type : data_.config.atom_exclude_types) centers_by_type_[type].clear();
}

kernels::DescriptorShape DeepPot::descriptor_shape(int centers) const
{
  return {centers, table_.width(), data_.config.neuron.back(), data_.config.axis_neuron};
}

void DeepPot::resize_edge_arrays(int num_edges)
{
  for (auto &v : edge_vector_) v.resize(num_edges);
  for (auto &v : edge_row_) v.resize(num_edges);
  edge_arg_.resize(num_edges);
}

// Edges, environment matrix and where they read the table: the common start of both passes.
void DeepPot::begin_chunk(const Domain &domain, int type, const int *centers, int n)
{
  edges_.gather(domain, rules_, type, centers, n);
  if (edges_.min_distance() == 0.0)
    throw Error("two atoms are at the same place: the start configuration overlaps or the "
                "simulation has blown up");
  view_ = edges_.view();
  kernels::environment_value(view_, environment_[type]);
  table_.locate(data_.parameters.data(), view_);
  resize_edge_arrays(view_.num_edges);
  const auto shape = descriptor_shape(n);
  t_.resize(4L * n * shape.width);
  g_t_.resize(t_.size());
}

void DeepPot::forward(const Domain &domain, ForwardOutput &out)
{
  prepare();
  sort_centers(domain);
  if (out.atom_energy)
    for (int k = 0; k < domain.num_centers; ++k) out.atom_energy[domain.centers[k]] = 0.0;
  for (int type = 0; type < static_cast<int>(centers_by_type_.size()); ++type) {
    const auto &list = centers_by_type_[type];
    for (int begin = 0; begin < static_cast<int>(list.size()); begin += chunk_)
      forward_chunk(domain, type, list.data() + begin, std::min<int>(chunk_, list.size() - begin),
                    out);
  }
}

void DeepPot::forward_chunk(const Domain &domain, int type, const int *centers, int n,
                            ForwardOutput &out)
{
  begin_chunk(domain, type, centers, n);
  const double *parameters = data_.parameters.data();
  const double scale = 1.0 / std::accumulate(rules_.sel.begin(), rules_.sel.end(), 0);
  const auto shape = descriptor_shape(n);
  kernels::contraction_value(view_, table_.table(), table_.reads(), scale, t_.data());
  d_.resize(static_cast<long>(n) * shape.channels * shape.axis);
  kernels::descriptor_value(shape, t_.data(), d_.data());
  const double *energy = fitting_[type].forward(parameters, n, 0, d_.data(), workspace_);
  const double shift = data_.bias_atom_e[type] - vacuum_energy_[type],
               bias = data_.out_bias[type] + shift;
  for (int k = 0; k < n; ++k) {
    out.energy += energy[k] + bias;
    out.network_energy += energy[k] + shift;
    if (out.atom_energy) out.atom_energy[centers[k]] = energy[k] + bias;
  }
  seeds_.assign(n, 1.0);
  const double *g_d = fitting_[type].reverse(parameters, n, 0, seeds_.data(), workspace_, nullptr);
  kernels::descriptor_reverse(shape, t_.data(), g_d, g_t_.data());
  double *const g_row[4] = {edge_row_[0].data(), edge_row_[1].data(), edge_row_[2].data(),
                            edge_row_[3].data()};
  double *const g_vector[3] = {edge_vector_[0].data(), edge_vector_[1].data(),
                               edge_vector_[2].data()};
  kernels::contraction_reverse(view_, table_.table(), table_.reads(), scale, g_t_.data(), g_row,
                               edge_arg_.data());
  kernels::environment_reverse(view_, g_row, edge_arg_.data(), g_vector);
  kernels::sum_forces(view_, g_vector, out.force, out.virial.data(), out.atom_virial);
}

void DeepPot::gradient(const Domain &domain, const GradientSeed &seed, double *gradient)
{
  prepare();
  sort_centers(domain);
  table_.begin_gradient();
  for (int type = 0; type < static_cast<int>(centers_by_type_.size()); ++type) {
    const auto &list = centers_by_type_[type];
    for (int begin = 0; begin < static_cast<int>(list.size()); begin += chunk_) {
      const int n = std::min<int>(chunk_, list.size() - begin);
      begin_chunk(domain, type, list.data() + begin, n);
      gradient_chunk(type, n, seed, gradient);
    }
    if (subtracts_vacuum(type)) add_vacuum_gradient(type, -seed.energy * list.size(), gradient);
  }
  table_.end_gradient(data_.parameters.data(), gradient);
}

// S = c E - E_dot with E_dot the tangent of E along the residuals: one forward sweep with tangents, one reverse sweep.
void DeepPot::gradient_chunk(int type, int n, const GradientSeed &seed, double *gradient)
{
  const double *parameters = data_.parameters.data();
  const double scale = 1.0 / std::accumulate(rules_.sel.begin(), rules_.sel.end(), 0);
  const auto shape = descriptor_shape(n);
  double *const tangent[3] = {edge_vector_[0].data(), edge_vector_[1].data(),
                              edge_vector_[2].data()};
  double *const row_dot[4] = {edge_row_[0].data(), edge_row_[1].data(), edge_row_[2].data(),
                              edge_row_[3].data()};
  kernels::edge_tangents(view_, seed.force, seed.virial.data(), tangent);
  kernels::environment_jvp(view_, tangent, row_dot, edge_arg_.data());
  t_dot_.resize(t_.size());
  kernels::contraction_jvp(view_, table_.table(), table_.reads(), scale, row_dot, edge_arg_.data(),
                           t_.data(), t_dot_.data());
  const long size = static_cast<long>(n) * shape.channels * shape.axis;
  d_.resize(2 * size);  // D, then its tangent
  kernels::descriptor_value(shape, t_.data(), d_.data());
  kernels::descriptor_jvp(shape, t_.data(), t_dot_.data(), d_.data() + size);
  fitting_[type].forward(parameters, n, 1, d_.data(), workspace_);
  seeds_.assign(2L * n, -1.0);
  std::fill_n(seeds_.begin(), n, seed.energy);
  const double *g_d = fitting_[type].reverse(parameters, n, 1, seeds_.data(), workspace_, gradient);
  g_t_dot_.resize(t_.size());
  kernels::descriptor_jvp_reverse(shape, t_.data(), t_dot_.data(), g_d, g_d + size, g_t_.data(),
                                  g_t_dot_.data());
  kernels::contraction_gradient(view_, table_.table(), table_.reads(), scale, row_dot,
                                edge_arg_.data(), g_t_.data(), g_t_dot_.data(),
                                table_.knot_gradient());
  table_.end_chunk(parameters, gradient);
}

void DeepPot::add_vacuum_gradient(int type, double seed, double *gradient)
{
  const std::vector<double> zero(fitting_[type].inputs(), 0.0);
  fitting_[type].forward(data_.parameters.data(), 1, 0, zero.data(), workspace_);
  fitting_[type].reverse(data_.parameters.data(), 1, 0, &seed, workspace_, gradient);
}

// The first number says whether the table already stands for the present parameters.
std::vector<double> DeepPot::auxiliary_state() const
{
  std::vector<double> state = table_.state();
  state.insert(state.begin(), prepared_version_ == version_ ? 1.0 : 0.0);
  return state;
}

void DeepPot::set_auxiliary_state(const std::vector<double> &state)
{
  if (state.size() != auxiliary_state().size())
    throw Error("the table state of the checkpoint is damaged: it has " +
                std::to_string(state.size()) + " numbers, " +
                std::to_string(auxiliary_state().size()) + " are needed");
  table_.set_state({state.begin() + 1, state.end()});
  if (state.at(0) == 0.0) return;
  table_.refill(data_.parameters.data());
  prepare_vacuum_energies();
  prepared_version_ = version_;
}

std::size_t DeepPot::memory_bytes() const
{
  std::size_t n = data_.parameters.capacity() + t_.capacity() + t_dot_.capacity() + d_.capacity() +
                  g_t_.capacity() + g_t_dot_.capacity() + seeds_.capacity() + edge_arg_.capacity();
  for (const auto &v : edge_vector_) n += v.capacity();
  for (const auto &v : edge_row_) n += v.capacity();
  return n * sizeof(double) + table_.memory_bytes() + edges_.memory_bytes() +
         workspace_.memory_bytes();
}

void DeepPot::save(const std::string &path, const std::vector<double> *parameters) const
{
  ModelData data = data_;
  if (parameters) data.parameters = *parameters;
  write_dp(path, data);
}

std::shared_ptr<Model> make_deep_pot(ModelData data)
{
  return std::make_shared<DeepPot>(std::move(data));
}

ModelData model_data(const Model &model)
{
  if (const auto *native = dynamic_cast<const DeepPot *>(&model)) return native->data();
  throw Error("this model is not a native one: it cannot be written as .dp");
}

std::shared_ptr<Model> load_model(const std::string &path)
{
  return make_deep_pot(read_dp(path));
}

}  // namespace dptrain
