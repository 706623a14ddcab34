#include "potential/native/sweep_results.h"

#include <algorithm>

#include "kernels/atom_values.h"
#include "kernels/vectors.h"
#include "kernels/workers.h"

namespace dptrain {

kernels::ForceSums SweepResults::begin(const FrameSet &frames, const ForwardOutput *out,
                                       std::size_t centers)
{
  constexpr long line = 8;  // numbers: parts begin where vectors do
  atom_virial_ = std::any_of(out, out + frames.size(), [](const auto &o) { return o.atom_virial; });
  kernels::ForceSums sums;
  sums.copies = kernels::workers();
  sums.atoms = room_for(frames);
  sums.frames = frames.size();
  const auto behind = [](long place, long numbers) {
    return place + (numbers + line - 1) / line * line;
  };
  at_.virial = behind(0, 3L * sums.atoms * sums.copies);
  at_.energy = behind(at_.virial, 9L * sums.frames * sums.copies);
  at_.atom_virial = behind(at_.energy, static_cast<long>(centers));
  const long end = behind(at_.atom_virial, atom_virial_ ? 9L * sums.atoms * sums.copies : 0);
  double *const all = all_.resize_clear(end);
  sums.force = all;
  sums.virial = all + at_.virial;
  if (atom_virial_) sums.atom_virial = all + at_.atom_virial;
  centers_ = static_cast<long>(centers);
  atoms_ = sums.atoms;
  return sums;
}

int SweepResults::room_for(const FrameSet &frames)
{
  constexpr int step = 256;
  const int atoms = frames.num_atoms();
  return kernels::separate_memory() ? (atoms + step - 1) / step * step : atoms;
}

void SweepResults::sum_copies(const FrameSet &frames)
{
  const int copies = kernels::workers();
  const auto sum = [&](long place, long n) {
    kernels::sum_copies(all_.data() + place, n, {copies, n});
  };
  sum(0, 3L * atoms_);
  sum(at_.virial, 9L * frames.size());
  if (atom_virial_) sum(at_.atom_virial, 9L * atoms_);
}

void SweepResults::add(const FrameSet &frames, const std::vector<double> &bias,
                       const kernels::Array<double> *bars, ForwardOutput *out)
{
  sum_copies(frames);
  if (frames.engine_lists()) return add_on_device(frames, bias, bars, *out);
  const double *const all = on_host(all_, host_);
  add_energies(frames, bias, all + at_.energy, out);
  add_forces(frames, all, out);
  if (bars) add_bars(frames, on_host(*bars, host_bars_), out);
}

// The numbers of an array where the host can read them.
const double *SweepResults::on_host(const kernels::Array<double> &array, std::vector<double> &copy)
{
  if (!kernels::separate_memory()) return array.data();
  copy.resize(array.size());
  array.copy_to(copy.data());
  return copy.data();
}

void SweepResults::add_energies(const FrameSet &frames, const std::vector<double> &bias,
                                const double *energy, ForwardOutput *out)
{
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
  const double *energy = energies(), *bar = bars ? bars->data() : nullptr;
  if (out.sums) {
    const double sum = kernels::sum_of_values(energy, centers_, parts_);
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
  kernels::add_values(all_.data(), 3L * frames.num_atoms(), out.force);
  if (out.atom_virial)
    kernels::add_values(all_.data() + at_.atom_virial, 9L * frames.num_atoms(), out.atom_virial);
  if (!out.sums) return;
  double virial[9];
  kernels::copy_out(virial, all_.data() + at_.virial, sizeof(virial));
  for (int k = 0; k < 9; ++k) out.virial[k] += virial[k];
}

void SweepResults::add_forces(const FrameSet &frames, const double *all, ForwardOutput *out)
{
  const auto add = [](const double *values, long n, double *target) {
    for (long k = 0; k < n; ++k) target[k] += values[k];
  };
  const auto begin = [&](int f) { return static_cast<long>(frames.offset(f)); };
  const auto atoms = [&](int f) { return frames.num_atoms(f); };
  const int n = frames.size();
  for (int f = 0; f < n; ++f) add(all + 3 * begin(f), 3L * atoms(f), out[f].force);
  for (int f = 0; f < n; ++f) add(all + at_.virial + 9L * f, 9, out[f].virial.data());
  for (int f = 0; f < n && atom_virial_; ++f)
    if (out[f].atom_virial)
      add(all + at_.atom_virial + 9 * begin(f), 9L * atoms(f), out[f].atom_virial);
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
  return (host_.capacity() + host_bars_.capacity()) * sizeof(double) + all_.memory_bytes() +
         parts_.memory_bytes();
}

}  // namespace dptrain
