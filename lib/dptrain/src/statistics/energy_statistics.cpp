// The energy bias of a data set, from sums by composition; the definition is that of DeePMD-kit (utils/out_stat.py, 3.2).

#include "statistics/energy_statistics.h"

#include <cmath>

#include "dptrain/base/error.h"
#include "statistics/least_squares.h"

namespace dptrain {

void Spread::merge(const Spread &other)
{
  if (other.number == 0.0) return;
  const double sum = number + other.number, step = other.mean - mean;
  mean += step * (other.number / sum);
  squares += other.squares + step * step * (number * other.number / sum);
  number = sum;
}

void EnergyStatistics::add(const std::vector<int> &type, const Label &label)
{
  std::vector<int> counts(ntypes_, 0);
  for (int t : type)
    if (t >= 0) ++counts.at(t);
  if (label.energy) {
    if (!std::isfinite(*label.energy))
      throw Error("the energy is not a finite number: leave the frame out");
    frames_[counts].add(*label.energy);
  }
}

void EnergyStatistics::gather(const Communicator &comm)
{
  std::vector<double> packed;
  for (const auto &[counts, energies] : frames_) {
    packed.insert(packed.end(), counts.begin(), counts.end());
    packed.insert(packed.end(), {energies.number, energies.mean, energies.squares});
  }
  frames_.clear();
  for (const auto &values : gather_arrays(comm, packed)) {
    const double *p = values.data(), *end = p + values.size();
    for (; p < end; p += ntypes_ + 3)
      frames_[std::vector<int>(p, p + ntypes_)].merge({p[ntypes_], p[ntypes_ + 1], p[ntypes_ + 2]});
  }
}

EnergyBias EnergyStatistics::fit(const std::vector<int> &atom_exclude_types,
                                 const std::vector<std::optional<double>> &atom_ener) const
{
  // Frames of one composition are one row, weighted by the root of their number: the same least squares.
  std::vector<double> rows, energies, counted(ntypes_, 1.0), known(ntypes_, 0.0), open;
  for (int t : atom_exclude_types) counted.at(t) = 0.0;
  open = counted;
  for (std::size_t t = 0; t < atom_ener.size(); ++t)
    if (atom_ener[t]) {
      known.at(t) = *atom_ener[t];
      open.at(t) = 0.0;
    }
  EnergyBias result;
  for (const auto &[counts, spread] : frames_) {
    const double weight = std::sqrt(spread.number);
    double rest = spread.mean;
    for (int t = 0; t < ntypes_; ++t) {
      rows.push_back(weight * open[t] * counts[t]);
      rest -= counted[t] * counts[t] * known[t];
    }
    energies.push_back(weight * rest);
    result.frames += static_cast<std::int64_t>(spread.number);
  }
  result.bias = least_squares(rows, energies, ntypes_, result.frames);
  for (std::size_t t = 0; t < atom_ener.size(); ++t)
    if (atom_ener[t]) result.bias[t] = known[t];

  Spread rest;
  double per_atom = 0.0;
  for (const auto &[counts, spread] : frames_) {
    double mean = spread.mean, natoms = 0.0;
    for (int t = 0; t < ntypes_; ++t) {
      mean -= counted[t] * counts[t] * result.bias[t];
      natoms += counts[t];
    }
    rest.merge({spread.number, mean, spread.squares});
    if (natoms > 0.0)
      per_atom += (spread.squares + spread.number * mean * mean) / (natoms * natoms);
  }
  if (result.frames > 0) result.rmse_per_atom = std::sqrt(per_atom / rest.number);
  result.deviation.assign(ntypes_, rest.number > 0.0 ? std::sqrt(rest.squares / rest.number) : 0.0);
  return result;
}

std::vector<std::vector<double>> gather_arrays(const Communicator &comm,
                                               const std::vector<double> &mine)
{
  std::vector<std::size_t> parts;
  for (std::int64_t size : comm.all_gather(static_cast<std::int64_t>(mine.size())))
    parts.push_back(size);
  std::size_t total = 0, begin = 0;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (static_cast<int>(rank) == comm.rank()) begin = total;
    total += parts[rank];
  }
  std::vector<double> all(total);
  std::copy(mine.begin(), mine.end(), all.begin() + begin);
  if (total > 0) comm.all_gather(all.data(), parts);
  std::vector<std::vector<double>> result;
  auto from = all.begin();
  for (std::size_t size : parts) {
    result.emplace_back(from, from + size);
    from += size;
  }
  return result;
}

}  // namespace dptrain
