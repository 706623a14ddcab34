#include "potential/native/deep_pot_engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/unique_number.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "kernels/gram.h"
#include "potential/native/networks.h"

namespace dptrain {
namespace {

// Where the table ends before any distance is known, and the margin below a known one, in Angstrom and as a factor.
constexpr double unknown_min_distance = 0.5;
constexpr double distance_margin = 0.9;
// Centers per block of matrix products, on a host for each worker: enough for the vendor's library, few enough for the
// second-level cache.
constexpr int host_chunk = 256, device_chunk = centers_between_flushes;
// The first attempt where little memory is free.
constexpr int smallest_first_chunk = 16;

// Places for a neighbor list of this size.
int row_capacity(int size)
{
  return (size + 15) / 16 * 16;
}

void add(const std::vector<std::array<int, 2>> &pairs, int ntypes, char *flags)
{
  for (const auto &[a, b] : pairs) flags[a * ntypes + b] = flags[b * ntypes + a] = 1;
}

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

double first_distance(const ModelData &data)
{
  return data.min_nbor_dist ? distance_margin * *data.min_nbor_dist : unknown_min_distance;
}

}  // namespace

template <class Real>
DeepPotEngine<Real>::DeepPotEngine(const ModelData &data) :
    config_(data.config),
    out_bias_(data.out_bias),
    bias_atom_e_(data.bias_atom_e),
    environment_(environments<Real>(data)),
    double_environment_(environments<double>(data)),
    padding_args_(padding_arguments(data)),
    table_(embedding_networks(config_, parameter_index(config_)), padding_args_,
           largest_argument(first_distance(data)), data.knots),
    last_layer_(config_.ntypes(),
                fitting_networks(config_, parameter_index(config_)).front().layers().back().in)
{
  const auto &c = config_;
  const auto index = parameter_index(c);
  for (const Mlp &net : fitting_networks(c, index)) {
    fitting_.emplace_back(net.layers());
    fitting_begin_.push_back(net.layers().front().w);
  }
  fitting_begin_.push_back(data.parameters.size());
  without_energy_.assign(c.ntypes(), 0);
  for (int type : c.atom_exclude_types) without_energy_[type] = 1;
  make_rules(c);
  const int wanted = kernels::separate_memory() ? device_chunk : host_chunk * kernels::workers();
  const std::size_t fitting = kernels::memory_for_kernels().free / 4 / bytes_per_center();
  chunk_ = static_cast<int>(std::clamp<std::size_t>(fitting, smallest_first_chunk, wanted));
}

template <class Real> void DeepPotEngine<Real>::make_rules(const ModelConfig &c)
{
  const int n = c.ntypes();
  std::vector<char> flags(2L * n * n, 0);
  add(c.exclude_types, n, flags.data());
  add(c.pair_exclude_types, n, flags.data() + static_cast<long>(n) * n);
  excluded_.copy_from(flags);
  sel_.copy_from(c.sel);
  const int slots = std::accumulate(c.sel.begin(), c.sel.end(), 0);
  row_capacity_ = row_capacity(slots);
  scale_ = 1.0 / slots;
  for (int t = 0; t < n; ++t) {
    const char *dropped = excluded_.data() + static_cast<long>(t) * n;
    rules_.push_back({c.rcut, slots, sel_.data(), dropped, dropped + static_cast<long>(n) * n,
                      !c.exclude_types.empty() || !c.pair_exclude_types.empty()});
  }
}

template <class Real> double DeepPotEngine<Real>::largest_argument(double r) const
{
  double largest = -HUGE_VAL;
  for (const auto &e : double_environment_)
    largest = std::max(largest, kernels::edge_value(e, r, 0.0, 0.0).arg);
  return largest;
}

// Kernels read the float64 numbers of the host where they can.
template <class Real>
void DeepPotEngine<Real>::copy_parameters(const std::vector<double> &parameters)
{
  parameters_ = parameters.data();
  num_parameters_ = parameters.size();
  if (kernels::separate_memory()) embedding_copy_.copy_from(parameters_, num_parameters_);
  if constexpr (sizeof(Real) == 4) {
    parameter_copy_.resize(num_parameters_);
    const std::size_t begin = fitting_begin_.front();
    kernels::convert(embedding_parameters() + begin, static_cast<long>(num_parameters_ - begin),
                     parameter_copy_.data() + begin);
  }
}

template <class Real> double *DeepPotEngine<Real>::embedding_parameters()
{
  return kernels::separate_memory() ? embedding_copy_.data() : const_cast<double *>(parameters_);
}

template <class Real> Real *DeepPotEngine<Real>::real_parameters()
{
  if constexpr (sizeof(Real) == 8)
    return embedding_parameters();
  else
    return parameter_copy_.data();
}

template <class Real> void DeepPotEngine<Real>::prepare(const std::vector<double> &parameters)
{
  copy_parameters(parameters);
  table_number_ = unique_number();
  table_.build(embedding_parameters());
  prepare_vacuum_energies();
}

template <class Real>
void DeepPotEngine<Real>::set_table_state(const std::vector<double> &state,
                                          const std::vector<double> *parameters)
{
  table_number_ = unique_number();
  table_.set_state(state);
  if (!parameters) return;
  copy_parameters(*parameters);
  table_.refill(embedding_parameters());
  prepare_vacuum_energies();
}

template <class Real> void DeepPotEngine<Real>::expect_distance(double r_min)
{
  extend_table(largest_argument(distance_margin * r_min));
}

template <class Real> void DeepPotEngine<Real>::prepare_vacuum_energies()
{
  vacuum_energy_.assign(fitting_.size(), 0.0);
  for (std::size_t t = 0; t < fitting_.size(); ++t) {
    if (!subtracts_vacuum(static_cast<int>(t))) continue;
    FittingState<Real> &state = vacuum_state_;
    kernels::clear(fitting_[t].descriptors(1, false, state), fitting_[t].inputs() * sizeof(Real));
    fitting_[t].forward(real_parameters(), state);
    vacuum_energy_[t] = state.x.back().to_host().front();
  }
}

template <class Real> bool DeepPotEngine<Real>::extend_table(double argument)
{
  if (!table_.extend(embedding_parameters(), argument)) return false;
  table_number_ = unique_number();
  return true;
}

// Whether the neighbors that were found need another table than the sweep had: then it counts for nothing.
template <class Real> bool DeepPotEngine<Real>::sweep_again(bool &direct)
{
  reports_.copy_to(host_reports_.data());
  GatherReport report = host_reports_.front();
  for (const GatherReport &r : host_reports_) {
    report.smallest_r2 = std::min(report.smallest_r2, r.smallest_r2);
    report.largest_row = std::max(report.largest_row, r.largest_row);
    if (&r != &host_reports_.front()) report.overflow += r.overflow;
  }
  if (frames().search() && report.largest_row > row_capacity_) {
    row_capacity_ = row_capacity(report.largest_row + report.largest_row / 8);
    return true;
  }
  if (report.smallest_r2 == 0.0)
    throw Error("two atoms are at the same place: the start configuration overlaps or the "
                "simulation has blown up");
  const double smallest = std::sqrt(report.smallest_r2), upper = largest_argument(smallest);
  if (direct || table_.reaches(upper)) {
    overflow_ += report.overflow;
    return false;
  }
  below_known_ = smallest;
  // with a margin: atoms that come closer from step to step would need a new table at each
  const double further = largest_argument(distance_margin * smallest);
  if (!extend_table(further) && !extend_table(upper)) direct = true;
  return true;
}

// Nothing is known of the neighbors yet.
template <class Real> void DeepPotEngine<Real>::clear_reports()
{
  host_reports_.assign(kernels::workers(), GatherReport{HUGE_VAL, 0, 0});
  reports_.copy_from(host_reports_);
}

template <class Real> void DeepPotEngine<Real>::set_device_ways(bool on)
{
  if (!on && kernels::separate_memory())
    throw Error("kernels on a device cannot read the neighbor lists of the host");
  device_ways_ = on;
}

// A sweep on a tape stays as it is.
template <class Real> void DeepPotEngine<Real>::set_frames(const Domain *domains, int n, bool keep)
{
  if (is_on_tape(sweep_)) sweep_ = std::make_shared<Sweep>();
  sweep_->table = 0;
  frames().set(domains, n, without_energy_, keep, device_ways_ ? config_.rcut : 0.0);
}

template <class Real> void DeepPotEngine<Real>::gather(Chunk &chunk)
{
  const auto *centers = frames().centers(chunk.type).data() + chunk.begin;
  chunk.edges.gather(frames(), rules_[chunk.type], config_.ntypes(), centers, chunk.n,
                     row_capacity_, reports_);
}

template <class Real> void DeepPotEngine<Real>::begin_chunk(Chunk &chunk)
{
  gather(chunk);
  auto &c = chunk.contraction;
  c.edges = chunk.edges.edges();
  c.row = environment_[chunk.type];
  c.scale = static_cast<Real>(scale_);
  c.padding_arg = static_cast<Real>(padding_args_[chunk.type]);
  c.padding_row = chunk.type;
  c.first_net = config_.type_one_side ? 0 : chunk.type;
  c.net_step = config_.type_one_side ? 1 : config_.ntypes();
  table_.set_table(embedding_parameters(), c, chunk.edges.num_slots());
}

template <class Real>
void DeepPotEngine<Real>::forward_chunk(Chunk &chunk, bool train, const kernels::ForceSums *sums)
{
  begin_chunk(chunk);
  const auto shape = descriptor_shape(chunk.n);
  FittingNet<Real> &net = fitting_[chunk.type];
  Real *t = chunk.t.resize(4L * chunk.n * shape.width);
  Real *g_t = chunk.g_t.resize(chunk.t.size());
  kernels::contraction_value(chunk.contraction, t);
  kernels::gram_value<4>(shape, t, net.descriptors(chunk.n, train, chunk.fitting));
  net.forward(real_parameters(), chunk.fitting);
  const Real *g_d = net.reverse(real_parameters(), chunk.fitting);
  kernels::gram_reverse<4>(shape, t, g_d, g_t);
  if (sums) kernels::contraction_reverse(chunk.contraction, g_t, *sums);
}

// Cleared sums of forces and virials, once per worker.
template <class Real> kernels::ForceSums DeepPotEngine<Real>::force_sums(bool atom_virial)
{
  kernels::ForceSums sums;
  sums.copies = kernels::workers();
  sums.atoms = frames().num_atoms();
  sums.frames = frames().size();
  sums.force = forces_.resize_clear(3L * sums.atoms * sums.copies);
  sums.virial = virials_.resize_clear(9L * sums.frames * sums.copies);
  if (atom_virial) sums.atom_virial = atom_virials_.resize_clear(9L * sums.atoms * sums.copies);
  return sums;
}

template <class Real> void DeepPotEngine<Real>::sum_force_copies(bool atom_virial)
{
  const int copies = kernels::workers();
  const auto sum = [&](kernels::Array<double> &array, long n) {
    kernels::sum_copies(array.data(), n, {copies, n});
  };
  sum(forces_, 3L * frames().num_atoms());
  sum(virials_, 9L * frames().size());
  if (atom_virial) sum(atom_virials_, 9L * frames().num_atoms());
}

template <class Real>
void DeepPotEngine<Real>::forward(const Domain *domains, int n, const ForwardOutput *out, bool keep)
{
  set_frames(domains, n, keep);
  std::size_t centers = 0;
  for (int type = 0; type < config_.ntypes(); ++type) centers += frames().centers(type).size();
  atom_virial_ = std::any_of(out, out + n, [](const auto &o) { return o.atom_virial; });
  bool direct = table_.direct();
  do {
    clear_reports();
    energies_.resize(centers);
    last_layer_.begin(out, n, centers);
    begin_samples(out, n);
    const kernels::ForceSums sums = force_sums(atom_virial_);
    table_.begin_sweep(direct, false);
    std::size_t done = 0;
    std::size_t bytes = 0;
    std::size_t &kept = sweep_->num_kept = 0;
    for_chunks(direct, [&](int type, int begin, int size) {
      const bool keeps = keep && !direct && !samples_ && bytes < keep_limit_;
      Chunk &chunk = chunk_at(kept, type, begin, size);
      forward_chunk(chunk, keep, &sums);
      kernels::convert(chunk.fitting.x.back().data(), size, energies_.data() + done);
      last_layer_.add(type, size, done, fitting_[type].features(chunk.fitting));
      if (samples_) sample_chunk(chunk);
      done += size;
      bytes += chunk.memory_bytes();
      if (keeps) ++kept;
    });
  } while (sweep_again(direct));
  sweep_->direct = direct;
  sweep_->table = table_number_;
}

template <class Real> void DeepPotEngine<Real>::add_results(ForwardOutput *out)
{
  sum_force_copies(atom_virial_);
  sum_energies(out);
  add_forces(out);
  add_uncertainties(out);
  last_layer_.finish(out, frames().size());
  if (samples_) add_samples(out);
}

// The numbers of an array where the host can read them, until the next call.
template <class Real>
const double *DeepPotEngine<Real>::on_host(const kernels::Array<double> &array)
{
  if (!kernels::separate_memory()) return array.data();
  host_.resize(array.size());
  array.copy_to(host_.data());
  return host_.data();
}

template <class Real> void DeepPotEngine<Real>::sum_energies(ForwardOutput *out)
{
  const double *energy = on_host(energies_);
  for (int type = 0; type < config_.ntypes(); ++type) {
    const double shift = bias_atom_e_[type] - vacuum_energy_[type], bias = out_bias_[type] + shift;
    for (const auto &center : frames().centers(type)) {
      ForwardOutput &o = out[center.frame];
      o.energy += *energy + bias;
      o.network_energy += *energy + shift;
      if (o.atom_energy)
        o.atom_energy[center.atom - frames().offset(center.frame)] = *energy + bias;
      ++energy;
    }
  }
}

template <class Real> void DeepPotEngine<Real>::add_forces(ForwardOutput *out)
{
  const auto add = [](const double *values, long n, double *target) {
    for (long k = 0; k < n; ++k) target[k] += values[k];
  };
  const FrameSet &set = frames();
  const auto begin = [&](int f) { return static_cast<long>(set.offset(f)); };
  const auto atoms = [&](int f) { return set.num_atoms(f); };
  const int n = set.size();
  const double *values = on_host(forces_);
  for (int f = 0; f < n; ++f) add(values + 3 * begin(f), 3L * atoms(f), out[f].force);
  values = on_host(virials_);
  for (int f = 0; f < n; ++f) add(values + 9L * f, 9, out[f].virial.data());
  if (std::none_of(out, out + n, [](const auto &o) { return o.atom_virial; })) return;
  values = on_host(atom_virials_);
  for (int f = 0; f < n; ++f)
    if (out[f].atom_virial) add(values + 9 * begin(f), 9L * atoms(f), out[f].atom_virial);
}

template class DeepPotEngine<double>;
template class DeepPotEngine<float>;

}  // namespace dptrain
