#include "statistics/energy_outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "statistics/energy_statistics.h"
#include "statistics/least_squares.h"

namespace dptrain {

namespace {

constexpr double far_away = 30.0,
                 least_distance = 10.0;     // times the typical deviation; eV per atom
constexpr double sigma_of_median = 1.4826;  // of a normal distribution
constexpr int fits = 50;
constexpr double smallest_deviation = 1e-3;  // eV per atom, of which differences do not matter

double median(std::vector<double> values)
{
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Frames as rows of atom numbers and an energy, both per atom.
struct Rows {
  int width;
  std::vector<double> counts, energies;

  std::size_t size() const { return energies.size(); }
  double deviation(std::size_t row, const std::vector<double> &bias) const
  {
    return energies[row] -
           std::inner_product(bias.begin(), bias.end(), counts.begin() + row * width, 0.0);
  }

  /// Energies of atoms of least squares with these weights, from the normal equations: of minimum norm.
  std::vector<double> fit(const std::vector<double> &weights) const
  {
    std::vector<double> matrix(width * width, 0.0), right(width, 0.0);
    for (std::size_t k = 0; k < size(); ++k) {
      const double *row = &counts[k * width];
      for (int i = 0; i < width; ++i) {
        right[i] += weights[k] * row[i] * energies[k];
        for (int j = 0; j < width; ++j) matrix[i * width + j] += weights[k] * row[i] * row[j];
      }
    }
    return least_squares(matrix, right, width, width);
  }
};

}  // namespace

void OutlierSearch::add(const std::vector<int> &type, const Label &label, std::size_t system,
                        std::int64_t frame)
{
  if (!label.energy) return;
  const std::size_t begin = rows_.size();
  rows_.resize(begin + ntypes_, 0.0);
  for (const int t : type)
    if (t >= 0) rows_.at(begin + t) += 1.0;
  rows_.insert(rows_.end(),
               {*label.energy, static_cast<double>(system), static_cast<double>(frame)});
}

EnergyOutliers OutlierSearch::find(const Communicator &comm)
{
  // in the order of the data, for any number of ranks
  std::vector<EnergyOutlier> frames;
  std::vector<std::vector<double>> counts;
  const std::size_t width = ntypes_ + 3;
  for (const auto &values : gather_arrays(comm, rows_))
    for (auto p = values.begin(); p != values.end(); p += static_cast<std::ptrdiff_t>(width)) {
      const double natoms = std::accumulate(p, p + ntypes_, 0.0);
      if (natoms == 0.0) continue;
      frames.push_back({static_cast<std::size_t>(p[ntypes_ + 1]),
                        static_cast<std::int64_t>(p[ntypes_ + 2]), p[ntypes_], natoms});
      counts.emplace_back(p, p + ntypes_);
    }
  rows_.clear();
  EnergyOutliers result;
  if (frames.size() < 3) return result;
  std::vector<std::size_t> order(frames.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(frames[a].system, frames[a].frame) <
           std::tie(frames[b].system, frames[b].frame);
  });
  Rows rows{ntypes_, {}, {}};
  for (const std::size_t k : order) {
    const double natoms = frames[k].per_atom;
    for (const double n : counts[k]) rows.counts.push_back(n / natoms);
    rows.energies.push_back(frames[k].energy / natoms);
  }

  std::vector<double> weights(rows.size(), 1.0), deviations(rows.size()), bias;
  for (int round = 0; round < fits; ++round) {
    bias = rows.fit(weights);
    for (std::size_t k = 0; k < rows.size(); ++k)
      weights[k] = 1.0 / std::max(std::abs(rows.deviation(k, bias)), smallest_deviation);
  }
  for (std::size_t k = 0; k < rows.size(); ++k) deviations[k] = std::abs(rows.deviation(k, bias));
  result.typical = sigma_of_median * median(deviations);
  const double limit = std::max(far_away * result.typical, least_distance);
  std::vector<double> kept(rows.size(), 0.0);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double natoms = frames[order[k]].per_atom;
    if (deviations[k] <= limit) {
      kept[k] = natoms * natoms;  // the energy bias is that of least squares of whole energies
      continue;
    }
    EnergyOutlier outlier = frames[order[k]];
    outlier.per_atom = rows.deviation(k, bias);
    result.frames.push_back(outlier);
  }
  std::stable_sort(result.frames.begin(), result.frames.end(), [](const auto &a, const auto &b) {
    return std::abs(a.per_atom) > std::abs(b.per_atom);
  });
  result.bias_without = rows.fit(kept);
  return result;
}

}  // namespace dptrain
