// Neighbor and descriptor statistics, as DeePMD-kit defines them (dpmodel/utils/env_mat_stat.py, 3.2).

#include "dptrain/statistics/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/environment.h"

namespace dptrain {

namespace {

constexpr double std_without_sample = 0.1;

using Moments = std::array<double, 4>;  // as Statistics::sums_ of one type

/// Sums over n edges: of s = w(r)/r, its square, the angular components q d, their squares.
Moments moments_of(int n, const double *length_squared, const double *component_sum,
                   const kernels::Environment<double> &environment)
{
  double radial = 0.0, radial_squares = 0.0, angular = 0.0, angular_squares = 0.0;
  _Pragma(
      "omp simd reduction(+ : radial, radial_squares, angular, angular_squares)") for (int k = 0;
                                                                                       k < n; ++k)
  {
    const auto edge = kernels::edge_value(environment, length_squared[k]);
    radial += edge.arg;
    radial_squares += edge.arg * edge.arg;
    angular += edge.q * component_sum[k];
    angular_squares += edge.q * edge.q * length_squared[k];
  }
  return {radial, radial_squares, angular, angular_squares};
}

kernels::Environment<double> environment_of(const StatisticsSettings &settings)
{
  return {settings.rcut, settings.rcut_smth, settings.env_protection, 0.0, 1.0, 1.0};
}

/// The neighbors of an atom as a list of the engine has them, sorted by type.
class ListedNeighbors {
 public:
  explicit ListedNeighbors(int ntypes) : runs_(ntypes), first_(ntypes + 1) {}

  Neighborhood around(const Domain &domain, int i, double rcut)
  {
    for (auto &run : runs_) run.clear();
    const double *x = domain.x + std::size_t(i) * 3;
    for (int n = 0; n < domain.num_neighbors[i]; ++n) {
      const int j = domain.neighbor(i, n) & domain.neighbor_mask;
      if (domain.type[j] < 0) continue;
      const double *y = domain.x + std::size_t(j) * 3;
      const double dx = y[0] - x[0], dy = y[1] - x[1], dz = y[2] - x[2];
      const double square = dx * dx + dy * dy + dz * dz;
      if (!std::isfinite(square) || square == 0.0)
        throw Error(fmt::format("Statistics: atom {} of the frame {}: leave the frame out", i,
                                square == 0.0 ? "lies on top of another atom"
                                              : "or a neighbor has a position that is not finite"));
      if (square <= rcut * rcut) runs_[domain.type[j]].push_back({square, dx + dy + dz});
    }
    squares_.clear();
    sums_.clear();
    for (std::size_t t = 0; t < runs_.size(); ++t) {
      for (const auto &[square, sum] : runs_[t]) {
        squares_.push_back(square);
        sums_.push_back(sum);
      }
      first_[t + 1] = static_cast<int>(squares_.size());
    }
    return {domain.type[i], squares_.data(), sums_.data(), first_.data()};
  }

 private:
  std::vector<std::vector<std::array<double, 2>>> runs_;
  std::vector<double> squares_, sums_;
  std::vector<int> first_;
};

double slots(const std::vector<int> &sel)
{
  return std::accumulate(sel.begin(), sel.end(), 0.0);
}

}  // namespace

Statistics::Statistics(int ntypes, StatisticsSettings settings) :
    ntypes_(ntypes),
    settings_(std::move(settings)),
    min_distance_(std::numeric_limits<double>::infinity()),
    max_neighbors_(ntypes, 0),
    sums_(4 * std::size_t(ntypes), 0.0),
    centers_(ntypes, 0),
    excluded_(std::size_t(ntypes) * ntypes, 0)
{
  if (!settings_.sel.empty() && settings_.sel.size() != std::size_t(ntypes))
    throw internal_error(fmt::format("Statistics: sel has {} entries, {} types need as many",
                                     settings_.sel.size(), ntypes));
  for (const auto &[a, b] : settings_.excluded)
    excluded_.at(a * ntypes_ + b) = excluded_.at(b * ntypes_ + a) = 1;
}

void Statistics::add(const Domain &domain)
{
  ListedNeighbors listed(ntypes_);
  for (int k = 0; k < domain.num_centers; ++k) {
    const int i = domain.centers[k];
    if (domain.type[i] >= 0) add(listed.around(domain, i, settings_.rcut));
  }
}

void Statistics::add(const Neighborhood &around)
{
  ++centers_[around.type];
  const int n = around.first[ntypes_];
  neighbors_ += n;
  double closest = std::numeric_limits<double>::infinity();
  _Pragma("omp simd reduction(min : closest)") for (int k = 0; k < n; ++k) closest =
      around.length_squared[k] < closest ? around.length_squared[k] : closest;
  min_distance_ = std::min(min_distance_, std::sqrt(closest));
  for (int t = 0; t < ntypes_; ++t)
    max_neighbors_[t] = std::max(max_neighbors_[t], around.first[t + 1] - around.first[t]);
  if (overflows(around)) return add_nearest(around);

  const kernels::Environment<double> environment = environment_of(settings_);
  const char *excluded = &excluded_[std::size_t(around.type) * ntypes_];
  double *sums = &sums_[std::size_t(around.type) * 4];
  for (int t = 0, end; t < ntypes_; t = end) {
    // types that stand beside each other go together
    for (end = t + 1; end < ntypes_ && excluded[end] == excluded[t];) ++end;
    if (excluded[t]) continue;
    const int from = around.first[t];
    const Moments found = moments_of(around.first[end] - from, around.length_squared + from,
                                     around.component_sum + from, environment);
    for (int c = 0; c < 4; ++c) sums[c] += found[c];
  }
}

// With as many neighbors as fit, both stages of the truncation keep all.
bool Statistics::overflows(const Neighborhood &around) const
{
  if (settings_.sel.empty()) return false;
  for (int t = 0; t < ntypes_; ++t)
    if (around.first[t + 1] - around.first[t] > settings_.sel[t]) return true;
  return false;
}

/// DeePMD's two stages: the nearest sum(sel) of all types, of those the nearest sel[t] of type t.
void Statistics::add_nearest(const Neighborhood &around)
{
  std::vector<int> type, order(around.first[ntypes_]), left = settings_.sel;
  for (int t = 0; t < ntypes_; ++t) type.resize(around.first[t + 1], t);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return around.length_squared[a] < around.length_squared[b];
  });
  const std::size_t total =
      std::accumulate(settings_.sel.begin(), settings_.sel.end(), std::size_t(0));
  if (order.size() > total) order.resize(total);
  std::vector<double> squares, components;
  for (int k : order) {
    if (left[type[k]]-- <= 0 || excluded_[std::size_t(around.type) * ntypes_ + type[k]]) continue;
    squares.push_back(around.length_squared[k]);
    components.push_back(around.component_sum[k]);
  }
  const Moments found = moments_of(static_cast<int>(squares.size()), squares.data(),
                                   components.data(), environment_of(settings_));
  for (int c = 0; c < 4; ++c) sums_[std::size_t(around.type) * 4 + c] += found[c];
}

// One reduction for sums and maxima: each rank puts its maxima into a place of its own, and the sum gathers them.
// Counts travel as doubles (exact up to 2^53).
void Statistics::reduce(const Communicator &comm)
{
  const std::size_t num_sums = sums_.size(), num_maxima = max_neighbors_.size() + 1;
  std::vector<double> values = sums_;
  values.insert(values.end(), centers_.begin(), centers_.end());
  values.push_back(neighbors_);
  const std::size_t first = values.size();
  values.resize(first + num_maxima * comm.size(), 0.0);
  double *mine = &values[first + num_maxima * comm.rank()];
  std::copy(max_neighbors_.begin(), max_neighbors_.end(), mine);
  mine[num_maxima - 1] = min_distance_;
  comm.all_reduce_sum(values.data(), values.size());

  std::copy_n(values.begin(), num_sums, sums_.begin());
  for (int t = 0; t < ntypes_; ++t) centers_[t] = static_cast<std::int64_t>(values[num_sums + t]);
  neighbors_ = values[first - 1];
  for (int rank = 0; rank < comm.size(); ++rank) {
    const double *of_rank = &values[first + num_maxima * rank];
    for (int t = 0; t < ntypes_; ++t)
      max_neighbors_[t] = std::max(max_neighbors_[t], static_cast<int>(of_rank[t]));
    min_distance_ = std::min(min_distance_, of_rank[num_maxima - 1]);
  }
}

std::int64_t Statistics::centers(int type) const
{
  return centers_.at(type);
}

double Statistics::mean_neighbors() const
{
  if (neighbors_ < 0.0)
    throw Error(fmt::format("Statistics: {} does not tell the mean number of neighbors; remove the "
                            "file to have it computed again",
                            source_.empty() ? "their source" : source_));
  const auto atoms = std::accumulate(centers_.begin(), centers_.end(), std::int64_t(0));
  return atoms > 0 ? neighbors_ / static_cast<double>(atoms) : 0.0;
}

std::vector<double> Statistics::davg(const std::vector<int> &sel, bool set_zero) const
{
  std::vector<double> mean(4 * std::size_t(ntypes_), 0.0);
  for (int t = 0; t < ntypes_ && !set_zero; ++t)
    if (centers_[t] > 0) mean[t * 4] = sums_[t * 4] / (centers_[t] * slots(sel));
  return mean;
}

std::vector<double> Statistics::dstd(const std::vector<int> &sel, double protect) const
{
  std::vector<double> deviation(4 * std::size_t(ntypes_), std_without_sample);
  const auto spread = [protect](double sum, double squares, double n) {
    const double mean = sum / n;
    return std::max(std::sqrt(std::max(squares / n - mean * mean, 0.0)), protect);
  };
  for (int t = 0; t < ntypes_; ++t) {
    if (centers_[t] == 0) continue;
    const double n = centers_[t] * slots(sel);
    const double *sums = &sums_[std::size_t(t) * 4];
    deviation[t * 4] = spread(sums[0], sums[1], n);
    for (int c = 1; c < 4; ++c) deviation[t * 4 + c] = spread(sums[2], sums[3], 3.0 * n);
  }
  return deviation;
}

// As DeePMD-kit rounds, so that "auto" gives the same model; but types of which there is none have places too.
std::vector<int> Statistics::recommended_sel(double factor) const
{
  std::vector<int> sel;
  for (int count : max_neighbors_)
    sel.push_back(std::max(4, (static_cast<int>(factor * count) + 3) / 4 * 4));
  return sel;
}

}  // namespace dptrain
