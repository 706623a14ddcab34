#include "potential/native/deep_pot_engine.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/advice.h"
#include "base/memory_shortage.h"
#include "base/unique_number.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "kernels/workers.h"
#include "potential/terms/energy_term_type.h"
#include "potential/terms/wall_term.h"

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

// Numbers that kernels are given, for the key of a sequence.
void append_bits(const std::vector<double> &numbers, std::vector<std::int64_t> &key)
{
  for (const double number : numbers) {
    key.push_back(0);
    std::memcpy(&key.back(), &number, sizeof(number));
  }
}

// Of a frame that comes alone and may come again; 0: it is none.
std::uint64_t number_of(const Domain *domains, int n)
{
  return n == 1 ? domains[0].number : 0;
}

}  // namespace

template <class Real>
DeepPotEngine<Real>::DeepPotEngine(const ModelData &data) :
    ntypes_(data.config.ntypes()),
    bias_atom_e_(data.bias_atom_e),
    without_energy_(ntypes_, 0),
    net_(add_net(data)),
    results_(ntypes_),
    features_(ntypes_, net_->num_features())
{
  for (auto &term : make_energy_terms<Real>(data, parameter_index(data.config)))
    add_term(std::move(term));
  set_wall_term(data);
  for (int type : data.config.atom_exclude_types) without_energy_[type] = 1;
  const int wanted = kernels::separate_memory() ? device_chunk : host_chunk * kernels::workers();
  const std::size_t fitting = kernels::memory_for_kernels().free / 4 / bytes_per_center();
  chunk_ = static_cast<int>(std::clamp<std::size_t>(fitting, smallest_first_chunk, wanted));
}

template <class Real> NetTerm<Real> *DeepPotEngine<Real>::add_net(const ModelData &data)
{
  auto net = std::make_unique<NetTerm<Real>>(data);
  NetTerm<Real> *const added = net.get();
  add_term(std::move(net));
  return added;
}

// With where it finds its neighbors: a finder that there is, if that finds what the term sees.
template <class Real> void DeepPotEngine<Real>::add_term(std::unique_ptr<EnergyTerm<Real>> term)
{
  const auto limits = term->edge_limits();
  std::size_t finder = 0;
  while (limits && finder < finders_.size() && !finders_[finder].finds(*limits)) ++finder;
  if (finder == finders_.size()) {
    finders_.emplace_back(ntypes_, *limits);
    is_kept_.push_back(0);
    in_work_.edges.emplace_back();
    kept_frames_.clear();  // which lack its edges
  }
  if (term->has_parameters()) is_kept_[finder] = 1;
  finder_of_.push_back(finder);
  in_work_.states.push_back(term->make_state());
  terms_.push_back(std::move(term));
}

template <class Real> void DeepPotEngine<Real>::set_wall_term(const ModelData &data)
{
  net_->descriptor().set_walls(data.walls);
  std::unique_ptr<WallTerm<Real>> term;
  if (!data.walls.empty()) term = std::make_unique<WallTerm<Real>>(data);
  if (term && has_wall_term_)
    terms_.back() = std::move(term);
  else if (term)
    add_term(std::move(term));
  else if (has_wall_term_) {
    terms_.pop_back();
    finder_of_.pop_back();
    in_work_.states.pop_back();
  }
  has_wall_term_ = !data.walls.empty();
}

template <class Real> void DeepPotEngine<Real>::prepare(const double *parameters)
{
  prepared_ = unique_number();
  // the net last: its descriptor counts how often it is made ready, and memory may run out before
  graphs_.run(sequence({0, reinterpret_cast<std::intptr_t>(parameters)}), [&] {
    for (std::size_t k = terms_.size(); k-- > 0;) terms_[k]->prepare(parameters);
  });
  net_->descriptor().check_tables();
}

template <class Real>
void DeepPotEngine<Real>::set_auxiliary_state(const std::vector<double> &state,
                                              const double *parameters)
{
  prepared_ = unique_number();
  for (std::size_t k = 1; k < terms_.size() && parameters; ++k) terms_[k]->prepare(parameters);
  net_->restore(state, parameters);
}

template <class Real> void DeepPotEngine<Real>::expect_distance(double r_min)
{
  if (net_->descriptor().expect_distance(r_min)) prepared_ = unique_number();
}

// As many centers as were asked for, unless an int could not count their slots, or the rows of a direct sweep took too
// much memory (which also keeps their offsets within an int).
template <class Real> int DeepPotEngine<Real>::chunk_size(bool direct) const
{
  const long of_net = finders_.front().most_slots(frames());
  long slots = of_net;
  for (const EdgeFinder &finder : finders_)
    slots = std::max<long>(slots, finder.most_slots(frames()));
  long most = INT_MAX / slots;
  if (direct)
    most = std::min(most,
                    direct_bytes /
                        (of_net * static_cast<long>(net_->descriptor().bytes_per_direct_slot())));
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
  chunk.edges.resize(finders_.size());
  for (std::size_t k = chunk.states.size(); k < terms_.size(); ++k)
    chunk.states.push_back(terms_[k]->has_parameters() ? terms_[k]->make_state() : nullptr);
  return chunk;
}

template <class Real> void DeepPotEngine<Real>::begin_sweep()
{
  for (EdgeFinder &finder : finders_) finder.begin_sweep();
}

// What the finders have to report. False where there are more neighbors than expected.
template <class Real> bool DeepPotEngine<Real>::end_edges()
{
  reports_.clear();
  for (EdgeFinder &finder : finders_)
    if (const auto report = finder.end_sweep(frames())) reports_.push_back(*report);
  return reports_.size() == finders_.size();
}

// Whether the sweep has to be repeated, as there are more neighbors than expected, or they are closer than the tables of the net
// cover.
template <class Real>
bool DeepPotEngine<Real>::sweep_again(const KeptFrame<Real> *known, bool &direct)
{
  if (known)
    reports_ = known->reports;
  else if (!end_edges())
    return true;
  const EdgeFinder::Report &report = reports_.front();
  DescriptorBase &descriptor = net_->descriptor();
  const auto coverage =
      direct ? DescriptorBase::Coverage::covered : descriptor.coverage(report.smallest_distance);
  if (coverage == DescriptorBase::Coverage::covered) {
    neighbor_report_.overflow += report.overflow;
    return false;
  }
  neighbor_report_.below_known = report.smallest_distance;
  prepared_ = unique_number();
  direct = coverage == DescriptorBase::Coverage::exact;
  return true;
}

template <class Real> void DeepPotEngine<Real>::use_device_algorithms(bool on)
{
  if (!on && kernels::separate_memory())
    throw internal_error("kernels on a device cannot read the neighbor lists of the host");
  device_algorithms_ = on;
  net_->descriptor().use_device_algorithms(on);
}

template <class Real> void DeepPotEngine<Real>::set_walls(const ModelData &data)
{
  set_wall_term(data);
  neighbor_report_.wall = {};
}

// A sweep on a tape stays as it is. Returns the frame if it is here already.
template <class Real>
const KeptFrame<Real> *DeepPotEngine<Real>::set_frames(const Domain *domains, int n, bool keep)
{
  if (is_on_tape(sweep_)) sweep_ = std::make_shared<Sweep>();
  sweep_->prepared = 0;
  sweep_->has_values = false;
  const std::uint64_t number = number_of(domains, n);
  const kernels::BesideSequences beside;  // edges are found before a sequence begins
  if (const KeptFrame<Real> *known = number != 0 ? kept_frames_.find(number) : nullptr) {
    sweep_->frames = known->frames;
    return known;
  }
  double rcut = 0.0;
  for (const EdgeFinder &finder : finders_) rcut = std::max(rcut, finder.rcut());
  if (!sweep_->own_frames) sweep_->own_frames = std::make_shared<FrameSet>();
  sweep_->frames = sweep_->own_frames;
  sweep_->frames->set(domains, n, without_energy_, keep, device_algorithms_ ? rcut : 0.0);
  return nullptr;
}

// The frame of a sweep whose chunks have all edges will come again.
template <class Real> void DeepPotEngine<Real>::keep_frame(std::uint64_t number)
{
  constexpr std::size_t part = 4;  // of the memory that is free
  const kernels::BesideSequences beside;
  KeptFrame<Real> frame{sweep_->frames, {}, reports_};
  std::size_t bytes = frame.memory_bytes();
  for (std::size_t k = 0; k < sweep_->num_kept; ++k)
    for (const auto &edges : sweep_->chunks[k].edges) bytes += edges.copy_bytes();
  const std::size_t most =
      (kernels::memory_for_kernels().free + kept_frames_.memory_bytes()) / part;
  if (!kept_frames_.make_room(bytes, most)) return;
  try {
    for (std::size_t k = 0; k < sweep_->num_kept; ++k) {
      const auto &edges = sweep_->chunks[k].edges;
      frame.edges.emplace_back(edges.size());
      for (std::size_t f = 0; f < edges.size(); ++f) frame.edges[k][f].copy_from(edges[f]);
    }
  } catch (const std::exception &error) {
    if (memory_shortage(error).empty()) throw;
    return;  // it is found again each time
  }
  kept_frames_.keep(number, std::move(frame));
  sweep_->own_frames.reset();
}

template <class Real> void DeepPotEngine<Real>::find_edges(Chunk &chunk, Edges which)
{
  for (std::size_t k = 0; k < finders_.size(); ++k)
    if (which == Edges::all || (which == Edges::of_pass_b) == (is_kept_[k] != 0))
      finders_[k].find(frames(), chunk.type, chunk.begin, chunk.n, edges_by(k, chunk));
}

// has_values: the chunk has those of the nets. Its edges were found.
template <class Real>
void DeepPotEngine<Real>::value_chunk(Chunk &chunk, bool train, bool has_values, double *energies)
{
  if (has_values) net_->add_energies(state_of(0, chunk), energies);
  for (std::size_t k = has_values ? 1 : 0; k < terms_.size(); ++k)
    terms_[k]->value(chunk.type, edges_of(k, chunk), train, state_of(k, chunk), energies);
}

template <class Real>
void DeepPotEngine<Real>::reverse_chunk(Chunk &chunk, const kernels::ForceSums *sums)
{
  if (net_->has_second_net())
    net_->set_second_seeds(state_of(0, chunk), of_centers(chunk, sweep_->seeds));
  for (std::size_t k = 0; k < terms_.size(); ++k)
    if (sums || terms_[k]->has_parameters())
      terms_[k]->reverse(chunk.type, edges_of(k, chunk), nullptr, state_of(k, chunk), sums);
}

// The key of a sequence of commands (kernels::Graphs): what all have in common, and `key`.
template <class Real>
std::vector<std::int64_t> DeepPotEngine<Real>::sequence(std::vector<std::int64_t> key) const
{
  append_bits(net_->descriptor().arguments(), key);
  return key;
}

// A sweep over few centers is done in two parts: what depends on the neighbors, and what is the same for all frames with the same
// number of centers.
template <class Real>
bool DeepPotEngine<Real>::finds_edges_first(std::size_t centers, bool direct) const
{
  constexpr std::size_t most_chunks = 16;
  if (!kernels::has_graphs() || direct || net_->has_second_net()) return false;
  return centers <= static_cast<std::size_t>(device_chunk) &&
         centers / std::max(1, chunk_size(direct)) + ntypes_ <= most_chunks &&
         centers * bytes_per_center() <= keep_limit_;
}

template <class Real>
void DeepPotEngine<Real>::begin_results(const ForwardOutput *out, std::size_t centers)
{
  features_.begin(out, frames().size(), centers);
  sums_ = results_.begin(frames(), out, centers);
}

// place: of its first center among all.
template <class Real>
void DeepPotEngine<Real>::forward_chunk(Chunk &chunk, bool train, bool has_values,
                                        std::size_t place)
{
  value_chunk(chunk, train, has_values, results_.energies() + place);
  reverse_chunk(chunk, &sums_);
  features_.add(chunk.type, chunk.n, place, net_->features(chunk.type, *chunk.states.front()));
}

template <class Real>
void DeepPotEngine<Real>::forward_by_chunks(const ForwardOutput *out, std::size_t centers,
                                            bool keep, std::size_t resumed, bool direct)
{
  begin_results(out, centers);
  std::size_t done = 0, bytes = 0;
  sweep_->num_kept = resumed;
  const auto work = [&](Chunk &chunk, bool has_values) {
    find_edges(chunk, has_values ? Edges::not_kept : Edges::all);
    forward_chunk(chunk, keep, has_values, done);
    done += chunk.n;
    bytes += chunk.memory_bytes();
  };
  for_all_chunks(
      resumed, direct, [&](Chunk &chunk) { work(chunk, true); },
      [&](int type, int begin, int size) {
        const bool keeps = keep && !direct && bytes < keep_limit_;
        work(chunk_at(sweep_->num_kept, type, begin, size), false);
        if (keeps) ++sweep_->num_kept;
      });
}

template <class Real>
void DeepPotEngine<Real>::forward_at_once(const ForwardOutput *out, std::size_t centers, bool keep,
                                          const KeptFrame<Real> *known)
{
  sweep_->num_kept = 0;
  const bool any_atom_virial = std::any_of(out, out + frames().size(),
                                           [](const auto &o) { return o.atom_virial != nullptr; });
  std::vector<std::int64_t> key{1,
                                keep,
                                frames().size(),
                                SweepResults::room_for(frames()),
                                has_wall_term_,
                                any_atom_virial,
                                reinterpret_cast<std::intptr_t>(sweep_.get())};
  for_chunks(false, [&](int type, int begin, int size) {
    Chunk &chunk = chunk_at(sweep_->num_kept, type, begin, size);
    if (known)
      for (std::size_t f = 0; f < finders_.size(); ++f)
        chunk.edges[f].copy_from(known->edges[sweep_->num_kept][f]);
    else
      find_edges(chunk, Edges::all);
    ++sweep_->num_kept;
    key.insert(key.end(), {type, size});
    for (const auto &edges : chunk.edges)
      key.insert(key.end(), {edges.num_slots(), edges.edges().max_count});
  });
  key.push_back(static_cast<std::int64_t>(sweep_->num_kept));
  append_bits(features_.arguments(out, frames().size()), key);
  sweep_->key = key;
  graphs_.run(sequence(std::move(key)), [&] {
    begin_results(out, centers);
    std::size_t done = 0;
    for (std::size_t k = 0; k < sweep_->num_kept; ++k) {
      forward_chunk(sweep_->chunks[k], keep, false, done);
      done += sweep_->chunks[k].n;
    }
  });
}

template <class Real>
void DeepPotEngine<Real>::forward(const Domain *domains, int n, const ForwardOutput *out, bool keep,
                                  const AtomValues &second)
{
  const bool resumes = sweep_->has_values;
  const KeptFrame<Real> *known = resumes ? nullptr : set_frames(domains, n, keep);
  sweep_->has_values = false;
  sweep_->seeds = second;
  std::size_t centers = 0;
  for (int type = 0; type < ntypes_; ++type) centers += frames().num_centers(type);
  bool direct = resumes ? sweep_->direct : net_->descriptor().is_direct();
  const std::size_t resumed = resumes ? sweep_->num_kept : 0;
  for (bool again = true; again;) {
    net_->set_direct(direct);
    for (const auto &term : terms_) term->begin_sweep();
    sweep_->edges_first = !resumes && finds_edges_first(centers, direct);
    if (!sweep_->edges_first) known = nullptr;
    if (!resumes && !known) begin_sweep();
    if (sweep_->edges_first)
      forward_at_once(out, centers, keep, known);
    else
      forward_by_chunks(out, centers, keep, resumed, direct);
    again = !resumes && sweep_again(known, direct);
  }
  const std::uint64_t number = number_of(domains, n);
  if (sweep_->edges_first && !known && number != 0) keep_frame(number);
  if (!keep) sweep_->num_kept = 0;
  for (const auto &term : terms_) term->end_sweep(neighbor_report_);
  sweep_->direct = direct;
  sweep_->prepared = prepared_;
}

template <class Real>
void DeepPotEngine<Real>::add_results(const std::vector<double> &energy_bias, ForwardOutput *out)
{
  for (int type = 0; type < ntypes_; ++type)
    results_.shift(type) = bias_atom_e_[type] - net_->vacuum_energy(type);
  results_.add(frames(), energy_bias, features_.has_bars() ? &features_.bars() : nullptr, out);
  features_.finish(out, frames().size());
}

// ---- memory

template <class Real> std::size_t DeepPotEngine<Real>::bytes_per_center() const
{
  constexpr std::size_t of_an_edge = 3 * sizeof(Real) + 2 * sizeof(int);
  std::size_t bytes = 0;
  for (const EdgeFinder &finder : finders_) bytes += finder.expected_slots() * of_an_edge;
  for (const auto &term : terms_) bytes += term->bytes_per_center();
  return bytes;
}

template <class Real> MemoryLedger DeepPotEngine<Real>::memory() const
{
  std::size_t n = sweep_->own_frames ? sweep_->own_frames->memory_bytes() : 0;
  n += host_.capacity() * sizeof(double);
  for (const auto &chunk : sweep_->chunks) n += chunk.memory_bytes();
  n += in_work_.memory_bytes();
  for (const auto &term : terms_) n += term->workspace_bytes();
  n += features_.memory_bytes() + results_.memory_bytes() + seeds_.memory_bytes();
  n += direction_.memory_bytes() + kept_frames_.memory_bytes();
  return {{"tables", net_->descriptor().table_bytes()}, {"workspace", n}};
}

template <class Real> bool DeepPotEngine<Real>::keep_less()
{
  if (kept_frames_.memory_bytes() > 0) {
    kept_frames_.clear();
    return true;
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < std::min(sweep_->num_kept, sweep_->chunks.size()); ++k)
    kept += sweep_->chunks[k].memory_bytes();
  if (kept < worth_keeping_less) return false;
  keep_limit_ = std::min(keep_limit_, kept) / 2;
  return true;
}

// What a sweep fills before it reads it. A tape keeps its frames.
template <class Real> void DeepPotEngine<Real>::release_workspace()
{
  sweep_->prepared = 0;
  sweep_->has_values = false;
  sweep_->num_kept = 0;
  std::vector<Chunk>().swap(sweep_->chunks);
  for (auto &edges : in_work_.edges) edges = EdgeChunk<Real>();
  for (std::size_t k = 0; k < terms_.size(); ++k) in_work_.states[k] = terms_[k]->make_state();
  if (!is_on_tape(sweep_)) sweep_->frames = std::make_shared<FrameSet>();
  if (sweep_->own_frames != sweep_->frames) sweep_->own_frames.reset();
  kept_frames_.clear();
  std::vector<double>().swap(host_);
  for (const auto &term : terms_) term->release_workspace();
  results_ = SweepResults(ntypes_);
  direction_.clear();
  seeds_.clear();
  graphs_.clear();
}

template class DeepPotEngine<double>;
template class DeepPotEngine<float>;

}  // namespace dptrain
