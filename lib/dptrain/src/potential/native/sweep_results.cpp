#include "potential/native/sweep_results.h"

#include <algorithm>

#include "kernels/atom_values.h"
#include "kernels/workers.h"

namespace dptrain {

kernels::ForceSums SweepResults::begin(const FrameSet &frames, const ForwardOutput *out,
                                       std::size_t centers)
{
  atom_virial_ = std::any_of(out, out + frames.size(), [](const auto &o) { return o.atom_virial; });
  energies_.resize_clear(centers);
  kernels::ForceSums sums;
  sums.copies = kernels::workers();
  sums.atoms = frames.num_atoms();
  sums.frames = frames.size();
  sums.force = forces_.resize_clear(3L * sums.atoms * sums.copies);
  sums.virial = virials_.resize_clear(9L * sums.frames * sums.copies);
  if (atom_virial_) sums.atom_virial = atom_virials_.resize_clear(9L * sums.atoms * sums.copies);
  return sums;
}

void SweepResults::sum_copies(const FrameSet &frames)
{
  const int copies = kernels::workers();
  const auto sum = [&](kernels::Array<double> &array, long n) {
    kernels::sum_copies(array.data(), n, {copies, n});
  };
  sum(forces_, 3L * frames.num_atoms());
  sum(virials_, 9L * frames.size());
  if (atom_virial_) sum(atom_virials_, 9L * frames.num_atoms());
}

void SweepResults::add(const FrameSet &frames, const std::vector<double> &bias,
                       const kernels::Array<double> *bars, ForwardOutput *out)
{
  sum_copies(frames);
  if (frames.engine_lists()) return add_on_device(frames, bias, bars, *out);
  add_energies(frames, bias, out);
  add_forces(frames, out);
  if (bars) add_bars(frames, on_host(*bars), out);
}

// The numbers of an array where the host can read them, until the next call.
const double *SweepResults::on_host(const kernels::Array<double> &array)
{
  if (!kernels::separate_memory()) return array.data();
  host_.resize(array.size());
  array.copy_to(host_.data());
  return host_.data();
}

void SweepResults::add_energies(const FrameSet &frames, const std::vector<double> &bias,
                                ForwardOutput *out)
{
  const double *energy = on_host(energies_);
  for (int type = 0; type < ntypes(); ++type) {
    const double all = bias[type] + shift_[type];
    for (const auto &center : frames.centers(type)) {
      ForwardOutput &o = out[center.frame];
      o.energy += *energy + all;
      o.network_energy += *energy + shift_[type];
      if (o.atom_energy) o.atom_energy[center.atom - frames.offset(center.frame)] = *energy + all;
      ++energy;
    }
  }
}

// The same for a domain whose arrays lie in the memory of the kernels. Only the sums come to the host.
void SweepResults::add_on_device(const FrameSet &frames, const std::vector<double> &bias,
                                 const kernels::Array<double> *bars, ForwardOutput &out)
{
  const double *energy = energies_.data(), *bar = bars ? bars->data() : nullptr;
  if (out.sums) {
    const double sum = kernels::sum_of_values(energy, static_cast<long>(energies_.size()), parts_);
    out.energy += sum;
    out.network_energy += sum;
  }
  for (int type = 0; type < ntypes(); ++type) {
    const int n = frames.num_centers(type), *atoms = frames.engine_lists()->centers(type);
    const double all = bias[type] + shift_[type];
    out.energy += n * all;
    out.network_energy += n * shift_[type];
    if (out.atom_energy) kernels::set_of_atoms(atoms, n, energy, all, out.atom_energy);
    if (out.bar) kernels::set_of_atoms(atoms, n, bar, 0.0, out.bar);
    energy += n;
    if (out.bar) bar += n;
  }
  kernels::add_values(forces_.data(), 3L * frames.num_atoms(), out.force);
  if (out.atom_virial)
    kernels::add_values(atom_virials_.data(), 9L * frames.num_atoms(), out.atom_virial);
  if (!out.sums) return;
  const double *virial = on_host(virials_);
  for (int k = 0; k < 9; ++k) out.virial[k] += virial[k];
}

void SweepResults::add_forces(const FrameSet &frames, ForwardOutput *out)
{
  const auto add = [](const double *values, long n, double *target) {
    for (long k = 0; k < n; ++k) target[k] += values[k];
  };
  const auto begin = [&](int f) { return static_cast<long>(frames.offset(f)); };
  const auto atoms = [&](int f) { return frames.num_atoms(f); };
  const int n = frames.size();
  const double *values = on_host(forces_);
  for (int f = 0; f < n; ++f) add(values + 3 * begin(f), 3L * atoms(f), out[f].force);
  values = on_host(virials_);
  for (int f = 0; f < n; ++f) add(values + 9L * f, 9, out[f].virial.data());
  if (!atom_virial_) return;
  values = on_host(atom_virials_);
  for (int f = 0; f < n; ++f)
    if (out[f].atom_virial) add(values + 9 * begin(f), 9L * atoms(f), out[f].atom_virial);
}

void SweepResults::add_bars(const FrameSet &frames, const double *bars, ForwardOutput *out)
{
  for (int type = 0; type < ntypes(); ++type)
    for (const auto &center : frames.centers(type)) {
      double *target = out[center.frame].bar;
      if (target) target[center.atom - frames.offset(center.frame)] = *bars;
      ++bars;
    }
}

std::size_t SweepResults::memory_bytes() const
{
  std::size_t bytes = host_.capacity() * sizeof(double);
  for (const auto *array : {&forces_, &virials_, &atom_virials_, &energies_, &parts_})
    bytes += array->memory_bytes();
  return bytes;
}

}  // namespace dptrain
