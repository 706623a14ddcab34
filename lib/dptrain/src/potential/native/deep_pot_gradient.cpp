// Pass B of DeepPotEngine: the parameter gradient of S = c E - E_dot, E_dot the tangent of E along the residuals.

#include <algorithm>

#include "potential/native/deep_pot_engine.h"

namespace dptrain {

// The reach of the table must be known before anything is added to the gradient.
template <class Real> void DeepPotEngine<Real>::measure_frames(bool &direct)
{
  do {
    begin_sweep();
    for_chunks(direct, [&](int type, int begin, int size) {
      find_edges(chunk_at(0, type, begin, size), Edges::of_pass_b);
    });
  } while (sweep_again(nullptr, direct));
}

// Returns how many chunks pass A has kept; direct: how the others are computed again.
template <class Real>
std::size_t DeepPotEngine<Real>::open_tape(Tape &tape, const GradientSeed *seeds, bool &direct)
{
  sweep_ = SweepTape<Sweep>::sweep_of(tape);
  const bool kept = sweep_->prepared == prepared_;
  direct = kept ? sweep_->direct : net_->descriptor().is_direct();
  if (!kept) measure_frames(direct);
  set_seeds(seeds);
  return kept ? sweep_->num_kept : 0;
}

template <class Real>
void DeepPotEngine<Real>::gradient(Tape &tape, const GradientSeed *seeds, double *gradient,
                                   const AtomValues &second)
{
  bool direct = false;
  const std::size_t kept = open_tape(tape, seeds, direct);
  sweep_->prepared = 0;  // chunks are used once: pass B writes to them
  set_energy_seeds();
  const auto work = [&] {
    begin_gradient(direct, gradient);
    for_all_chunks(
        kept, direct, [&](Chunk &chunk) { gradient_chunk(chunk, second); },
        [&](int type, int begin, int size) {
          Chunk &chunk = chunk_at(kept, type, begin, size);
          repeat_chunk(chunk);
          gradient_chunk(chunk, second);
        });
    add_vacuum_gradient();
    for (const auto &term : terms_) term->end_gradient();
  };
  if (!sweep_->edges_first || kept == 0) return work();
  std::vector<std::int64_t> key{2, has_residuals_, reinterpret_cast<std::intptr_t>(gradient)};
  key.insert(key.end(), sweep_->key.begin(), sweep_->key.end());
  graphs_.run(sequence(std::move(key)), work);
}

// Per-atom residuals, strains and energy weights where kernels can read them.
template <class Real> void DeepPotEngine<Real>::set_seeds(const GradientSeed *seeds)
{
  const int n = frames().size();
  seed_of_frame_.assign(seeds, seeds + n);
  has_residuals_ = std::any_of(seeds, seeds + n, [](const auto &seed) { return seed.force; });
  host_.assign(9L * n + (has_residuals_ ? 3L * frames().num_atoms() : 0), 0.0);
  for (int f = 0; f < n; ++f) {
    std::copy(seeds[f].virial.begin(), seeds[f].virial.end(), host_.begin() + 9L * f);
    if (seeds[f].force)
      std::copy_n(seeds[f].force, 3L * frames().num_atoms(f),
                  host_.begin() + 9L * n + 3L * frames().offset(f));
  }
  direction_.copy_from(host_);
}

template <class Real> void DeepPotEngine<Real>::begin_gradient(bool direct, double *gradient)
{
  since_flush_ = 0;
  kernels::clear(gradient, net_->begin_of_nets() * sizeof(double));
  net_->set_direct(direct);
  for (const auto &term : terms_) term->begin_gradient(gradient);
}

// What pass A has not kept of a chunk.
template <class Real> void DeepPotEngine<Real>::repeat_chunk(Chunk &chunk)
{
  find_edges(chunk, Edges::of_pass_b);
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    if (!terms_[k]->has_parameters()) continue;
    terms_[k]->value(chunk.type, edges_of(k, chunk), true, state_of(k, chunk), nullptr);
  }
  reverse_chunk(chunk, nullptr);
}

// By center, in the order of the types, and for each type that of an isolated atom, whose energy is subtracted from each atom's.
template <class Real> void DeepPotEngine<Real>::set_energy_seeds()
{
  host_seeds_.clear();
  vacuum_weights_.assign(ntypes_, 0.0);
  for (int type = 0; type < ntypes_; ++type)
    for (const auto &center : frames().centers(type)) {
      const double seed = energy_seed(center);
      host_seeds_.push_back(static_cast<Real>(seed));
      vacuum_weights_[type] -= seed;
    }
  host_seeds_.insert(host_seeds_.end(), vacuum_weights_.begin(), vacuum_weights_.end());
  seeds_.copy_from(host_seeds_);
}

template <class Real> long DeepPotEngine<Real>::first_center(int type) const
{
  long first = 0;
  for (int before = 0; before < type; ++before) first += frames().num_centers(before);
  return first;
}

template <class Real>
void DeepPotEngine<Real>::gradient_chunk(Chunk &chunk, const AtomValues &second)
{
  const int n = chunk.n;
  const Real *const seeds = seeds_.data() + first_center(chunk.type) + chunk.begin;
  if (net_->has_second_net())
    net_->set_second_weights(state_of(0, chunk), of_centers(chunk, second));
  for (std::size_t k = 0; k < terms_.size(); ++k)
    if (terms_[k]->has_parameters())
      terms_[k]->gradient(chunk.type, edges_of(k, chunk), seeds, direction(), state_of(k, chunk));
  since_flush_ += n;
  if (since_flush_ < centers_between_flushes) return;
  since_flush_ = 0;
  for (const auto &term : terms_) term->flush_gradient();
}

template <class Real> void DeepPotEngine<Real>::add_vacuum_gradient()
{
  const Real *const weights = seeds_.data() + first_center(ntypes_);
  for (int type = 0; type < ntypes_; ++type)
    if (net_->subtracts_vacuum(type)) net_->add_vacuum_gradient(type, weights + type);
}

template void DeepPotEngine<double>::gradient(Tape &, const GradientSeed *, double *,
                                              const AtomValues &);
template void DeepPotEngine<float>::gradient(Tape &, const GradientSeed *, double *,
                                             const AtomValues &);
template std::size_t DeepPotEngine<double>::open_tape(Tape &, const GradientSeed *, bool &);
template std::size_t DeepPotEngine<float>::open_tape(Tape &, const GradientSeed *, bool &);

}  // namespace dptrain
