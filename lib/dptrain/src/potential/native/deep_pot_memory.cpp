// Memory of DeepPotEngine: what it is for, what a center needs, and giving it back.

#include <algorithm>
#include <numeric>

#include "potential/native/deep_pot_engine.h"

namespace dptrain {

namespace {

constexpr std::size_t worth_keeping_less = std::size_t(1) << 20;  // bytes

}  // namespace

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
  for (const auto *a : {&parameter_copy_, &forces_, &virials_, &atom_virials_, &energies_,
                        &residuals_, &strains_, &gradient_copy_})
    n += a->memory_bytes();
  n += seeds_.memory_bytes();
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
  for (auto *a :
       {&forces_, &virials_, &atom_virials_, &energies_, &residuals_, &strains_, &gradient_copy_})
    a->clear();
  seeds_.clear();
}

template std::size_t DeepPotEngine<double>::bytes_per_center() const;
template std::size_t DeepPotEngine<float>::bytes_per_center() const;
template MemoryLedger DeepPotEngine<double>::memory() const;
template MemoryLedger DeepPotEngine<float>::memory() const;
template bool DeepPotEngine<double>::keep_less();
template bool DeepPotEngine<float>::keep_less();
template void DeepPotEngine<double>::release_workspace();
template void DeepPotEngine<float>::release_workspace();

}  // namespace dptrain
