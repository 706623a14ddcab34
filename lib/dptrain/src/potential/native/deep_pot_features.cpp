// What a sweep tells of the last hidden layer: uncertainties, and forces of changed last layers. The energy is linear in
// the last layer's weights, so that each sample of them costs one sweep back from the last hidden layer.

#include <algorithm>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/features.h"
#include "kernels/workers.h"
#include "potential/native/deep_pot_engine.h"

namespace dptrain {

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

template <class Real>
void DeepPotEngine<Real>::set_weight_samples(const std::vector<double> &changes)
{
  const std::size_t one = static_cast<std::size_t>(ntypes_) * last_layer_.features();
  num_samples_ = static_cast<int>(changes.size() / one);
  weight_samples_.copy_from(std::vector<Real>(changes.begin(), changes.end()));
}

template <class Real> void DeepPotEngine<Real>::begin_samples(const ForwardOutput *out, int n)
{
  samples_ = std::any_of(out, out + n, [](const auto &o) { return o.sampled_force != nullptr; });
  if (!samples_) return;
  if (frames().engine_lists())
    throw internal_error("Forces of sampled last layers are made for domains in host memory");
  if (n != 1) throw internal_error("Sampled last layers are made for one frame at a time");
  if (num_samples_ == 0)
    throw internal_error("Forces of sampled last layers were asked for, and there are no samples");
  sample_forces_.resize_clear(3L * frames().num_atoms() * kernels::workers() * num_samples_);
  sample_virials_.resize_clear(9L * kernels::workers());
}

// After forward_chunk, whose gradients are overwritten.
template <class Real> void DeepPotEngine<Real>::sample_chunk(Chunk &chunk)
{
  const int features = last_layer_.features();
  kernels::ForceSums sums;
  sums.copies = kernels::workers();
  sums.atoms = frames().num_atoms();
  sums.frames = 1;
  sums.virial = sample_virials_.data();
  Real *seed = sample_seed_.resize(static_cast<long>(chunk.n) * features);
  for (int k = 0; k < num_samples_; ++k) {
    const long row = static_cast<long>(k) * ntypes_ + chunk.type;
    kernels::fill_rows(chunk.n, features, weight_samples_.data() + row * features, seed);
    const Real *g_d =
        fitting_[chunk.type].reverse_features(fitting_.parameters(), seed, chunk.fitting);
    sums.force = sample_forces_.data() + 3L * sums.atoms * sums.copies * k;
    descriptor_->reverse(*chunk.descriptor, g_d, &sums);
  }
}

template <class Real> void DeepPotEngine<Real>::add_samples(ForwardOutput *out)
{
  const long size = 3L * frames().num_atoms(), copies = kernels::workers();
  const double *values = on_host(sample_forces_);
  for (int k = 0; k < num_samples_; ++k)
    for (long copy = 0; copy < copies; ++copy)
      for (long i = 0; i < size; ++i)
        out->sampled_force[size * k + i] += values[(k * copies + copy) * size + i];
}

#define DPTRAIN_INSTANTIATE(Real)                                                     \
  template void DeepPotEngine<Real>::add_uncertainties(ForwardOutput *);              \
  template void DeepPotEngine<Real>::set_weight_samples(const std::vector<double> &); \
  template void DeepPotEngine<Real>::begin_samples(const ForwardOutput *, int);       \
  template void DeepPotEngine<Real>::sample_chunk(Chunk &);                           \
  template void DeepPotEngine<Real>::add_samples(ForwardOutput *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain
