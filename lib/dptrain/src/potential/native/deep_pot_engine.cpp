#include "potential/native/deep_pot_engine.h"

#include <algorithm>
#include <climits>

#include "base/advice.h"
#include "base/unique_number.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
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
// What a chunk may take where every slot has rows of its own.
constexpr long direct_bytes = 64L << 20;
constexpr std::size_t worth_keeping_less = std::size_t(1) << 20;  // bytes

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
    terms_(make_energy_terms<Real>(data)),
    results_(ntypes_),
    last_layer_(ntypes_, fitting_.num_features())
{
  for (int type : data.config.atom_exclude_types) without_energy_[type] = 1;
  descriptor_->set_walls(data.walls);
  const int wanted = kernels::separate_memory() ? device_chunk : host_chunk * kernels::workers();
  const std::size_t fitting = kernels::memory_for_kernels().free / 4 / bytes_per_center();
  chunk_ = static_cast<int>(std::clamp<std::size_t>(fitting, smallest_first_chunk, wanted));
}

// Kernels read the numbers of the host where they can.
template <class Real>
void DeepPotEngine<Real>::set_parameters(const std::vector<double> &parameters)
{
  parameters_ = parameters;
  if (kernels::separate_memory()) parameter_copy_.copy_from(parameters);
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

// As many centers as were asked for, unless an int could not count their slots, or the rows of a direct sweep took too
// much memory (which also keeps their offsets within an int).
template <class Real> int DeepPotEngine<Real>::chunk_size(bool direct) const
{
  const long slots = edges_.most_slots(frames());
  long most = INT_MAX / slots;
  if (direct)
    most = std::min(most, direct_bytes /
                              (slots * static_cast<long>(descriptor_->bytes_per_direct_slot())));
  return static_cast<int>(std::clamp<long>(most, 1, chunk_));
}

template <class Real>
typename DeepPotEngine<Real>::Chunk &DeepPotEngine<Real>::chunk_at(std::size_t place, int type,
                                                                   int begin, int n)
{
  std::vector<Chunk> &chunks = sweep_->chunks;
  if (chunks.size() <= place) chunks.resize(place + 1);
  Chunk &chunk = chunks[place];
  chunk.type = type;
  chunk.begin = begin;
  chunk.n = n;
  if (!chunk.descriptor) chunk.descriptor = descriptor_->make_state();
  return chunk;
}

// Whether the sweep has to be repeated, as the neighbors that were found are closer than its tables cover.
template <class Real> bool DeepPotEngine<Real>::sweep_again(bool &direct)
{
  const auto report = edges_.end_sweep(frames());
  if (!report) return true;
  const auto coverage =
      direct ? DescriptorBase::Coverage::covered : descriptor_->coverage(report->smallest_distance);
  if (coverage == DescriptorBase::Coverage::covered) {
    neighbor_report_.overflow += report->overflow;
    return false;
  }
  neighbor_report_.below_known = report->smallest_distance;
  prepared_ = unique_number();
  direct = coverage == DescriptorBase::Coverage::exact;
  return true;
}

template <class Real> void DeepPotEngine<Real>::use_device_algorithms(bool on)
{
  if (!on && kernels::separate_memory())
    throw internal_error("kernels on a device cannot read the neighbor lists of the host");
  device_algorithms_ = on;
  descriptor_->use_device_algorithms(on);
}

template <class Real> void DeepPotEngine<Real>::set_walls(const ModelData &data)
{
  terms_ = make_energy_terms<Real>(data);
  neighbor_report_.wall = {};
  descriptor_->set_walls(data.walls);
}

// A sweep on a tape stays as it is.
template <class Real> void DeepPotEngine<Real>::set_frames(const Domain *domains, int n, bool keep)
{
  if (is_on_tape(sweep_)) sweep_ = std::make_shared<Sweep>();
  sweep_->prepared = 0;
  frames().set(domains, n, without_energy_, keep, device_algorithms_ ? edges_.rcut() : 0.0);
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

template <class Real>
void DeepPotEngine<Real>::forward(const Domain *domains, int n, const ForwardOutput *out, bool keep)
{
  set_frames(domains, n, keep);
  std::size_t centers = 0;
  for (int type = 0; type < ntypes_; ++type) centers += frames().num_centers(type);
  bool direct = descriptor_->is_direct();
  do {
    edges_.begin_sweep();
    for (const auto &term : terms_) term->begin_sweep();
    last_layer_.begin(out, n, centers);
    const kernels::ForceSums sums = results_.begin(frames(), out, centers);
    descriptor_->begin_sweep(direct);
    std::size_t done = 0;
    std::size_t bytes = 0;
    std::size_t &kept = sweep_->num_kept = 0;
    for_chunks(direct, [&](int type, int begin, int size) {
      const bool keeps = keep && !direct && bytes < keep_limit_;
      Chunk &chunk = chunk_at(kept, type, begin, size);
      forward_chunk(chunk, keep, &sums);
      kernels::convert(chunk.fitting.x.back().data(), size, results_.energies() + done);
      for (const auto &term : terms_)
        term->add(type, chunk.descriptor->edges.edges(), results_.energies() + done, sums);
      last_layer_.add(type, size, done, fitting_[type].features(chunk.fitting));
      done += size;
      bytes += chunk.memory_bytes();
      if (keeps) ++kept;
    });
  } while (sweep_again(direct));
  for (const auto &term : terms_) term->end_sweep(neighbor_report_);
  sweep_->direct = direct;
  sweep_->prepared = prepared_;
}

template <class Real>
void DeepPotEngine<Real>::add_results(const std::vector<double> &energy_bias, ForwardOutput *out)
{
  for (int type = 0; type < ntypes_; ++type)
    results_.shift(type) = bias_atom_e_[type] - fitting_.vacuum_energy(type);
  results_.add(frames(), energy_bias,
               last_layer_.has_uncertainty() ? &last_layer_.uncertainty() : nullptr, out);
  last_layer_.finish(out, frames().size());
}

// ---- memory

// In training: edges, the arrays of the descriptor, layers of the fitting net with tangents and adjoints.
template <class Real> std::size_t DeepPotEngine<Real>::bytes_per_center() const
{
  constexpr std::size_t of_an_edge = 3 * sizeof(Real) + 2 * sizeof(int);
  constexpr std::size_t arrays_of_inputs = 3, arrays_of_outputs = 8;
  return edges_.expected_slots() * of_an_edge + descriptor_->bytes_per_center() +
         (arrays_of_inputs * fitting_.inputs() + arrays_of_outputs * fitting_.num_outputs()) *
             sizeof(Real);
}

template <class Real> MemoryLedger DeepPotEngine<Real>::memory() const
{
  std::size_t n = frames().memory_bytes() + host_.capacity() * sizeof(double);
  for (const auto &chunk : sweep_->chunks) n += chunk.memory_bytes();
  n += descriptor_->workspace_bytes() + fitting_.memory_bytes() + last_layer_.memory_bytes();
  n += results_.memory_bytes() + seeds_.memory_bytes();
  for (const auto *a : {&parameter_copy_, &residuals_, &strains_, &gradient_copy_})
    n += a->memory_bytes();
  return {{"tables", descriptor_->table_bytes()}, {"workspace", n}};
}

template <class Real> bool DeepPotEngine<Real>::keep_less()
{
  std::size_t kept = 0;
  for (std::size_t k = 0; k < std::min(sweep_->num_kept, sweep_->chunks.size()); ++k)
    kept += sweep_->chunks[k].memory_bytes();
  if (kept < worth_keeping_less) return false;
  keep_limit_ = kept / 2;
  return true;
}

// What a sweep fills before it reads it. A tape keeps its frames.
template <class Real> void DeepPotEngine<Real>::release_workspace()
{
  sweep_->prepared = 0;
  sweep_->num_kept = 0;
  std::vector<Chunk>().swap(sweep_->chunks);
  if (!is_on_tape(sweep_)) frames() = FrameSet();
  std::vector<double>().swap(host_);
  descriptor_->release_workspace();
  fitting_.release_workspace();
  results_ = SweepResults(ntypes_);
  for (auto *a : {&residuals_, &strains_, &gradient_copy_}) a->clear();
  seeds_.clear();
}

template class DeepPotEngine<double>;
template class DeepPotEngine<float>;

}  // namespace dptrain
