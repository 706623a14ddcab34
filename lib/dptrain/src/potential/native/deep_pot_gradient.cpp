// Pass B of DeepPotEngine: the parameter gradient of S = c E - E_dot, E_dot the tangent of E along the residuals.

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/gram.h"
#include "potential/native/deep_pot_engine.h"

namespace dptrain {

// The reach of the table must be known before anything is added to the gradient.
template <class Real> void DeepPotEngine<Real>::measure_frames(bool &direct)
{
  do {
    clear_reports();
    for_chunks(direct,
               [&](int type, int begin, int size) { gather(chunk_at(0, type, begin, size)); });
  } while (sweep_again(direct));
}

template <class Real>
void DeepPotEngine<Real>::gradient(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  sweep_ = SweepTape<Sweep>::sweep_of(tape);
  // chunks are used once: pass B writes to them
  const bool kept = std::exchange(sweep_->table, 0) == table_number_;
  const std::size_t kept_chunks = kept ? sweep_->num_kept : 0;
  bool direct = kept ? sweep_->direct : table_.direct();
  if (!kept) measure_frames(direct);
  set_seeds(seeds);
  table_.begin_sweep(direct, true);
  begin_gradient(gradient);
  Place next;
  for (std::size_t k = 0; k < kept_chunks; ++k) {
    Chunk &chunk = sweep_->chunks[k];
    gradient_chunk(chunk);
    next = {chunk.type, chunk.begin + chunk.n};
  }
  const auto again = [&](int type, int begin, int size) {
    Chunk &chunk = chunk_at(kept_chunks, type, begin, size);
    forward_chunk(chunk, true, nullptr);
    gradient_chunk(chunk);
  };
  for_chunks(direct, again, next);
  add_vacuum_gradient();
  end_gradient(gradient);
}

// Per-atom residuals, strains and energy weights where kernels can read them.
template <class Real> void DeepPotEngine<Real>::set_seeds(const GradientSeed *seeds)
{
  const int n = frames().size();
  host_.assign(9L * n, 0.0);
  seed_of_frame_.assign(seeds, seeds + n);
  bool any_force = false;
  for (int f = 0; f < n; ++f) {
    std::copy(seeds[f].virial.begin(), seeds[f].virial.end(), host_.begin() + 9L * f);
    any_force = any_force || seeds[f].force;
  }
  strains_.copy_from(host_);
  has_residuals_ = any_force;
  if (!any_force) return;
  host_.assign(3L * frames().num_atoms(), 0.0);
  for (int f = 0; f < n; ++f)
    if (seeds[f].force)
      std::copy_n(seeds[f].force, 3L * frames().num_atoms(f),
                  host_.begin() + 3L * frames().offset(f));
  residuals_.copy_from(host_);
}

// Nothing is cleared that a matrix product can write: the gradient does not fit into the caches.
template <class Real> void DeepPotEngine<Real>::begin_gradient(double *gradient)
{
  since_flush_ = 0;
  flushed_ = false;
  fresh_.assign(fitting_.size(), 1);
  embedding_out_ = gradient;
  if (kernels::separate_memory()) embedding_out_ = embedding_gradient_.resize(num_parameters_);
  kernels::clear(embedding_out_, fitting_begin_.front() * sizeof(double));
  if constexpr (sizeof(Real) == 8)
    gradient_ = embedding_out_;
  else
    gradient_ = gradient_copy_.resize(num_parameters_);
}

// What stands in the working precision goes to the float64 gradient.
template <class Real> void DeepPotEngine<Real>::flush_gradient()
{
  since_flush_ = 0;
  if constexpr (sizeof(Real) == 4) {
    for (std::size_t type = 0; type < fitting_.size(); ++type) {
      const std::size_t begin = fitting_begin_[type], size = fitting_begin_[type + 1] - begin;
      double *target = embedding_out_ + begin;
      if (fresh_[type] == 0 && flushed_)
        kernels::add_converted(gradient_ + begin, static_cast<long>(size), target);
      else if (fresh_[type] == 0)
        kernels::convert(gradient_ + begin, static_cast<long>(size), target);
      else if (!flushed_)
        kernels::clear(target, size * sizeof(double));
      fresh_[type] = 1;
    }
    flushed_ = true;
  }
}

template <class Real> void DeepPotEngine<Real>::end_gradient(double *gradient)
{
  table_.end_gradient(embedding_parameters(), embedding_out_);
  flush_gradient();
  if constexpr (sizeof(Real) == 8)
    for (std::size_t type = 0; type < fitting_.size(); ++type)
      if (fresh_[type] != 0)
        kernels::clear(gradient_ + fitting_begin_[type],
                       (fitting_begin_[type + 1] - fitting_begin_[type]) * sizeof(Real));
  if (embedding_out_ != gradient) embedding_gradient_.copy_to(gradient);
}

// Adds to the gradient of a type's fitting net; the first time it is written. Returns dS/dD.
template <class Real>
const Real *DeepPotEngine<Real>::fitting_gradient(int type, FittingState<Real> &state)
{
  const bool add = fresh_[type] == 0;
  fresh_[type] = 0;
  return fitting_[type].gradient(real_parameters(), seeds_.data(), state, add, gradient_);
}

template <class Real> void DeepPotEngine<Real>::gradient_chunk(Chunk &chunk)
{
  const int n = chunk.n;
  const auto shape = descriptor_shape(n);
  const auto *centers = frames().centers(chunk.type).data() + chunk.begin;
  host_seeds_.resize(n);
  for (int i = 0; i < n; ++i) host_seeds_[i] = static_cast<Real>(energy_seed(centers[i]));
  seeds_.copy_from(host_seeds_);

  const double *residuals = has_residuals_ ? residuals_.data() : nullptr;
  Real *t_dot = t_dot_.resize(chunk.t.size());
  kernels::contraction_jvp(chunk.contraction, residuals, strains_.data(), t_dot);
  kernels::gram_jvp<4>(shape, chunk.t.data(), t_dot,
                          fitting_[chunk.type].descriptor_tangents(chunk.fitting));
  const Real *s_d = fitting_gradient(chunk.type, chunk.fitting);
  Real *s_t = s_t_.resize(chunk.t.size());
  kernels::gram_jvp_reverse<4>(shape, chunk.t.data(), t_dot, s_d, chunk.fitting.g_y[0].data(),
                                  s_t);
  if (device_ways_ && !chunk.contraction.table.direct)
    knot_gradient_.add(chunk.contraction, residuals, strains_.data(), s_t, chunk.g_t.data(),
                       table_.table_gradient());
  else
    kernels::contraction_gradient(chunk.contraction, residuals, strains_.data(), s_t,
                                  chunk.g_t.data(), table_.table_gradient(),
                                  table_.gradient_copies());
  table_.end_chunk(embedding_parameters(), embedding_out_);
  since_flush_ += n;
  if (since_flush_ < centers_between_flushes) return;
  table_.flush();
  flush_gradient();
}

// The energy of an isolated atom is subtracted from each atom's.
template <class Real> void DeepPotEngine<Real>::add_vacuum_gradient()
{
  for (int type = 0; type < config_.ntypes(); ++type) {
    if (!subtracts_vacuum(type)) continue;
    double weight = 0.0;
    for (const auto &center : frames().centers(type)) weight -= energy_seed(center);
    const Real c = static_cast<Real>(weight);
    FittingNet<Real> &net = fitting_[type];
    FittingState<Real> &state = vacuum_state_;
    kernels::clear(net.descriptors(1, true, state), net.inputs() * sizeof(Real));
    net.forward(real_parameters(), state);
    net.reverse(real_parameters(), state);
    kernels::clear(net.descriptor_tangents(state), net.inputs() * sizeof(Real));
    seeds_.copy_from(&c, 1);
    fitting_gradient(type, state);
  }
}

template void DeepPotEngine<double>::gradient(Tape &, const GradientSeed *, double *);
template void DeepPotEngine<float>::gradient(Tape &, const GradientSeed *, double *);

}  // namespace dptrain
