// Pass B of DeepPotEngine: the parameter gradient of S = c E - E_dot, E_dot the tangent of E along the residuals.

#include <algorithm>
#include <cmath>

#include "kernels/descriptor.h"
#include "model/deep_pot_engine.h"

namespace dptrain {
namespace {

// float32 sums over more centres than this would lose digits.
constexpr std::size_t centres_between_flushes = 4096;

}  // namespace

template <class Real>
void DeepPotEngine<Real>::gradient(const Domain *domains, int n, const GradientSeed *seeds,
                                   double *gradient)
{
  bool direct = kept_ ? kept_direct_ : table_.direct();
  const std::size_t kept_chunks = kept_ ? num_kept_ : 0;
  if (!kept_) {
    set_frames(domains, n);
    // the reach of the table must be known before anything is added to the gradient
    do {
      clear_reports();
      for_chunks([&](int type, int begin, int size) { gather(chunk_at(0, type, begin, size)); });
    } while (sweep_again(direct));
  }
  set_seeds(domains, seeds);
  table_.begin_sweep(direct, true);
  begin_gradient(gradient);
  std::size_t number = 0;
  for_chunks([&](int type, int begin, int size) {
    const bool is_kept = number < kept_chunks;
    Chunk &chunk = is_kept ? chunks_[number] : chunk_at(kept_chunks, type, begin, size);
    if (!is_kept) forward_chunk(chunk, true, nullptr);
    gradient_chunk(chunk);
    ++number;
  });
  add_vacuum_gradient(seeds);
  end_gradient(gradient);
  kept_ = false;
}

// Per-atom residuals, strains and energy weights where kernels can read them.
template <class Real>
void DeepPotEngine<Real>::set_seeds(const Domain *domains, const GradientSeed *seeds)
{
  const int n = frames_.size();
  host_.assign(9L * n, 0.0);
  seed_of_frame_.assign(n, 0.0);
  bool any_force = false;
  for (int f = 0; f < n; ++f) {
    std::copy(seeds[f].virial.begin(), seeds[f].virial.end(), host_.begin() + 9L * f);
    seed_of_frame_[f] = seeds[f].energy;
    any_force = any_force || seeds[f].force;
  }
  strains_.copy_from(host_);
  has_residuals_ = any_force;
  if (!any_force) return;
  host_.assign(3L * frames_.num_atoms(), 0.0);
  for (int f = 0; f < n; ++f)
    if (seeds[f].force)
      std::copy_n(seeds[f].force, 3L * domains[f].nall, host_.begin() + 3L * frames_.offset(f));
  residuals_.copy_from(host_);
}

template <class Real> void DeepPotEngine<Real>::begin_gradient(double *gradient)
{
  since_flush_ = 0;
  if constexpr (sizeof(Real) == 8) {
    if (!kernels::separate_memory()) {
      gradient_ = embedding_out_ = gradient;
      return;
    }
  }
  gradient_ = gradient_copy_.resize_clear(num_parameters_);
  embedding_out_ = gradient;
  if (kernels::separate_memory())
    embedding_out_ = embedding_gradient_.resize_clear(num_parameters_);
}

// What stands in the working precision goes to the float64 gradient.
template <class Real> void DeepPotEngine<Real>::flush_gradient()
{
  since_flush_ = 0;
  if (static_cast<void *>(gradient_) == static_cast<void *>(embedding_out_)) return;
  kernels::add_converted(gradient_ + num_embedding_,
                         static_cast<long>(num_parameters_ - num_embedding_),
                         embedding_out_ + num_embedding_);
  kernels::clear(gradient_, num_parameters_ * sizeof(Real));
}

template <class Real> void DeepPotEngine<Real>::end_gradient(double *gradient)
{
  table_.end_gradient(embedding_parameters(), embedding_out_);
  flush_gradient();
  if (embedding_out_ == gradient) return;
  host_.resize(num_parameters_);
  embedding_gradient_.copy_to(host_.data());
  for (std::size_t k = 0; k < num_parameters_; ++k) gradient[k] += host_[k];
}

template <class Real> void DeepPotEngine<Real>::gradient_chunk(Chunk &chunk)
{
  const int n = chunk.n;
  const auto shape = descriptor_shape(n);
  const auto *centres = frames_.centres(chunk.type).data() + chunk.begin;
  host_seeds_.resize(n);
  for (int i = 0; i < n; ++i) host_seeds_[i] = static_cast<Real>(seed_of_frame_[centres[i].frame]);
  seeds_.copy_from(host_seeds_);

  const double *residuals = has_residuals_ ? residuals_.data() : nullptr;
  FittingNet<Real> &net = fitting_[chunk.type];
  Real *t_dot = t_dot_.resize(chunk.t.size());
  kernels::contraction_jvp(chunk.contraction, residuals, strains_.data(), t_dot);
  Real *d_dot = d_dot_.resize(static_cast<long>(n) * net.inputs());
  kernels::descriptor_jvp(shape, chunk.t.data(), t_dot, d_dot);
  const Real *s_d =
      net.gradient(real_parameters(), n, seeds_.data(), d_dot_, chunk.fitting, gradient_);
  Real *s_t = s_t_.resize(chunk.t.size());
  kernels::descriptor_jvp_reverse(shape, chunk.t.data(), t_dot, s_d, chunk.fitting.g_y[0].data(),
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
  if (since_flush_ < centres_between_flushes) return;
  table_.flush();
  flush_gradient();
}

// The energy of an isolated atom is subtracted from each atom's.
template <class Real> void DeepPotEngine<Real>::add_vacuum_gradient(const GradientSeed *seeds)
{
  for (int type = 0; type < config_.ntypes(); ++type) {
    if (!subtracts_vacuum(type)) continue;
    double weight = 0.0;
    for (const auto &centre : frames_.centres(type)) weight -= seeds[centre.frame].energy;
    const Real c = static_cast<Real>(weight);
    FittingNet<Real> &net = fitting_[type];
    FittingState<Real> &state = vacuum_state_;
    kernels::clear(net.descriptors(1, state), net.inputs() * sizeof(Real));
    net.forward(real_parameters(), 1, true, state);
    net.reverse(real_parameters(), 1, state);
    d_dot_.resize_clear(net.inputs());
    seeds_.copy_from(&c, 1);
    net.gradient(real_parameters(), 1, seeds_.data(), d_dot_, state, gradient_);
  }
}

template void DeepPotEngine<double>::gradient(const Domain *, int, const GradientSeed *, double *);
template void DeepPotEngine<float>::gradient(const Domain *, int, const GradientSeed *, double *);

}  // namespace dptrain
