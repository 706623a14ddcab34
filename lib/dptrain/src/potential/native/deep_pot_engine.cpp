#include "potential/native/deep_pot_engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/advice.h"
#include "base/unique_number.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "kernels/atom_values.h"
#include "kernels/workers.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/native/fitting_shape.h"

namespace dptrain {
namespace {

// Centers per block of matrix products, on a host for each worker: enough for the vendor's library, few enough for the
// second-level cache.
constexpr int host_chunk = 256, device_chunk = centers_between_flushes;
// The first attempt where little memory is free.
constexpr int smallest_first_chunk = 16;

// By type: whether the energy of an isolated atom is given.
std::vector<char> has_atom_energy(const ModelConfig &config)
{
  std::vector<char> has(config.ntypes(), 0);
  for (std::size_t t = 0; t < config.atom_ener.size(); ++t) has[t] = config.atom_ener[t] ? 1 : 0;
  return has;
}

}  // namespace

template <class Real>
DeepPotEngine<Real>::DeepPotEngine(const ModelData &data) :
    ntypes_(data.config.ntypes()),
    bias_atom_e_(data.bias_atom_e),
    without_energy_(ntypes_, 0),
    descriptor_(make_descriptor<Real>(data)),
    edges_(ntypes_, descriptor_->edge_limits()),
    fitting_(networks(fitting_networks_name, ntypes_, fitting_shape(data.config),
                      parameter_index(data.config)),
             has_atom_energy(data.config)),
    last_layer_(ntypes_, fitting_.num_features())
{
  for (int type : data.config.atom_exclude_types) without_energy_[type] = 1;
  const int wanted = kernels::separate_memory() ? device_chunk : host_chunk * kernels::workers();
  const std::size_t fitting = kernels::memory_for_kernels().free / 4 / bytes_per_center();
  chunk_ = static_cast<int>(std::clamp<std::size_t>(fitting, smallest_first_chunk, wanted));
}

// Kernels read the numbers of the host where they can.
template <class Real>
void DeepPotEngine<Real>::set_parameters(const std::vector<double> &parameters)
{
  parameters_ = parameters.data();
  num_parameters_ = parameters.size();
  if (kernels::separate_memory()) parameter_copy_.copy_from(parameters_, num_parameters_);
}

template <class Real> void DeepPotEngine<Real>::prepare(const std::vector<double> &parameters)
{
  set_parameters(parameters);
  prepared_ = unique_number();
  // first: the descriptor counts how often it is made ready, and memory may run out in between
  fitting_.prepare(this->parameters());
  descriptor_->prepare(this->parameters());
}

template <class Real>
void DeepPotEngine<Real>::set_auxiliary_state(const std::vector<double> &state,
                                              const std::vector<double> *parameters)
{
  prepared_ = unique_number();
  descriptor_->set_auxiliary_state(state);
  if (!parameters) return;
  set_parameters(*parameters);
  descriptor_->refill(this->parameters());
  fitting_.prepare(this->parameters());
}

template <class Real> void DeepPotEngine<Real>::expect_distance(double r_min)
{
  if (descriptor_->expect_distance(r_min)) prepared_ = unique_number();
}

// Whether the neighbors that were found need another descriptor than the sweep had: then it counts for nothing.
template <class Real> bool DeepPotEngine<Real>::sweep_again(bool &direct)
{
  const auto report = edges_.end_sweep(frames());
  if (!report) return true;
  const auto reach =
      direct ? DescriptorBase::Reach::enough : descriptor_->reach(report->smallest_distance);
  if (reach == DescriptorBase::Reach::enough) {
    neighbor_report_.overflow += report->overflow;
    return false;
  }
  neighbor_report_.below_known = report->smallest_distance;
  prepared_ = unique_number();
  direct = reach == DescriptorBase::Reach::direct;
  return true;
}

template <class Real> void DeepPotEngine<Real>::set_device_ways(bool on)
{
  if (!on && kernels::separate_memory())
    throw internal_error("kernels on a device cannot read the neighbor lists of the host");
  device_ways_ = on;
  descriptor_->set_device_ways(on);
}

// A sweep on a tape stays as it is.
template <class Real> void DeepPotEngine<Real>::set_frames(const Domain *domains, int n, bool keep)
{
  if (is_on_tape(sweep_)) sweep_ = std::make_shared<Sweep>();
  sweep_->prepared = 0;
  frames().set(domains, n, without_energy_, keep, device_ways_ ? edges_.rcut() : 0.0);
}

template <class Real> void DeepPotEngine<Real>::find_edges(Chunk &chunk)
{
  chunk.descriptor->type = chunk.type;
  edges_.find(frames(), chunk.type, chunk.begin, chunk.n, chunk.descriptor->edges);
}

template <class Real>
void DeepPotEngine<Real>::forward_chunk(Chunk &chunk, bool train, const kernels::ForceSums *sums)
{
  find_edges(chunk);
  FittingNet<Real> &net = fitting_[chunk.type];
  descriptor_->value(*chunk.descriptor, net.descriptors(chunk.n, train, chunk.fitting));
  net.forward(fitting_.parameters(), chunk.fitting);
  const Real *g_d = net.reverse(fitting_.parameters(), chunk.fitting);
  descriptor_->reverse(*chunk.descriptor, g_d, sums);
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
  for (int type = 0; type < ntypes_; ++type) centers += frames().num_centers(type);
  atom_virial_ = std::any_of(out, out + n, [](const auto &o) { return o.atom_virial; });
  bool direct = descriptor_->is_direct();
  do {
    edges_.begin_sweep();
    energies_.resize(centers);
    last_layer_.begin(out, n, centers);
    const kernels::ForceSums sums = force_sums(atom_virial_);
    descriptor_->begin_sweep(direct);
    std::size_t done = 0;
    std::size_t bytes = 0;
    std::size_t &kept = sweep_->num_kept = 0;
    for_chunks(direct, [&](int type, int begin, int size) {
      const bool keeps = keep && !direct && bytes < keep_limit_;
      Chunk &chunk = chunk_at(kept, type, begin, size);
      forward_chunk(chunk, keep, &sums);
      kernels::convert(chunk.fitting.x.back().data(), size, energies_.data() + done);
      last_layer_.add(type, size, done, fitting_[type].features(chunk.fitting));
      done += size;
      bytes += chunk.memory_bytes();
      if (keeps) ++kept;
    });
  } while (sweep_again(direct));
  sweep_->direct = direct;
  sweep_->prepared = prepared_;
}

template <class Real>
void DeepPotEngine<Real>::add_results(const std::vector<double> &energy_bias, ForwardOutput *out)
{
  sum_force_copies(atom_virial_);
  if (frames().engine_lists()) {
    add_on_device(energy_bias, *out);
  } else {
    sum_energies(energy_bias, out);
    add_forces(out);
    add_uncertainties(out);
  }
  last_layer_.finish(out, frames().size());
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

template <class Real>
void DeepPotEngine<Real>::sum_energies(const std::vector<double> &energy_bias, ForwardOutput *out)
{
  const double *energy = on_host(energies_);
  for (int type = 0; type < ntypes_; ++type) {
    const double shift = bias_atom_e_[type] - fitting_.vacuum_energy(type),
                 bias = energy_bias[type] + shift;
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

// The same for a domain whose arrays lie in the memory of the kernels. Only the sums come to the host.
template <class Real>
void DeepPotEngine<Real>::add_on_device(const std::vector<double> &energy_bias, ForwardOutput &out)
{
  const FrameSet &set = frames();
  const double *energy = energies_.data(), *uncertainty = last_layer_.uncertainty().data();
  if (out.sums) {
    const double sum = kernels::sum_of_values(energy, static_cast<long>(energies_.size()), parts_);
    out.energy += sum;
    out.network_energy += sum;
  }
  for (int type = 0; type < ntypes_; ++type) {
    const int n = set.num_centers(type), *atoms = set.engine_lists()->centers(type);
    const double shift = bias_atom_e_[type] - fitting_.vacuum_energy(type),
                 bias = energy_bias[type] + shift;
    out.energy += n * bias;
    out.network_energy += n * shift;
    if (out.atom_energy) kernels::set_of_atoms(atoms, n, energy, bias, out.atom_energy);
    if (out.uncertainty) kernels::set_of_atoms(atoms, n, uncertainty, 0.0, out.uncertainty);
    energy += n;
    if (out.uncertainty) uncertainty += n;
  }
  kernels::add_values(forces_.data(), 3L * set.num_atoms(), out.force);
  if (out.atom_virial)
    kernels::add_values(atom_virials_.data(), 9L * set.num_atoms(), out.atom_virial);
  if (!out.sums) return;
  const double *virial = on_host(virials_);
  for (int k = 0; k < 9; ++k) out.virial[k] += virial[k];
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

template <class Real> void DeepPotEngine<Real>::add_uncertainties(ForwardOutput *out)
{
  if (!last_layer_.has_uncertainty()) return;
  const double *uncertainty = on_host(last_layer_.uncertainty());
  for (int type = 0; type < ntypes_; ++type)
    for (const auto &center : frames().centers(type)) {
      double *target = out[center.frame].uncertainty;
      if (target) target[center.atom - frames().offset(center.frame)] = *uncertainty;
      ++uncertainty;
    }
}

template class DeepPotEngine<double>;
template class DeepPotEngine<float>;

}  // namespace dptrain
