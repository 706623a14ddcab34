// Neighbour and descriptor statistics, as DeePMD-kit defines them (dpmodel/utils/env_mat_stat.py, 3.2).

#include "dptrain/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dptrain/error.h"
#include "kernels/environment.h"

namespace dptrain {

namespace {

constexpr double SMALLEST_STD = 1e-2;  // DeePMD's data_stat_protect
constexpr double STD_WITHOUT_SAMPLE = 0.1;

struct Neighbor {
  double r;
  double d[3];
  int type;
};

/// The neighbours of atom i within rcut.
void collect(const Domain &domain, int i, double rcut, std::vector<Neighbor> &near)
{
  near.clear();
  const double *x = domain.x + std::size_t(i) * 3;
  for (int n = 0; n < domain.num_neighbors[i]; ++n) {
    const int j = domain.neighbors[i][n] & domain.neighbor_mask;
    if (domain.type[j] < 0) continue;
    const double *y = domain.x + std::size_t(j) * 3;
    Neighbor edge{0.0, {y[0] - x[0], y[1] - x[1], y[2] - x[2]}, domain.type[j]};
    edge.r = std::sqrt(edge.d[0] * edge.d[0] + edge.d[1] * edge.d[1] + edge.d[2] * edge.d[2]);
    if (!std::isfinite(edge.r) || edge.r == 0.0)
      throw Error("Statistics: atom " + std::to_string(i) + " of the frame " +
                  (edge.r == 0.0 ? "lies on top of another atom"
                                 : "or a neighbour has a position that is not finite"));
    if (edge.r <= rcut) near.push_back(edge);
  }
}

/// DeePMD's two stages: the nearest sum(sel) of all types, of those the nearest sel[t] of type t.
void truncate(std::vector<Neighbor> &near, const std::vector<int> &sel)
{
  const std::size_t total = std::accumulate(sel.begin(), sel.end(), std::size_t(0));
  std::stable_sort(near.begin(), near.end(),
                   [](const Neighbor &a, const Neighbor &b) { return a.r < b.r; });
  if (near.size() > total) near.resize(total);
  std::vector<int> left = sel;
  near.erase(std::remove_if(near.begin(), near.end(),
                            [&](const Neighbor &n) { return left[n.type]-- <= 0; }),
             near.end());
}

double slots(const std::vector<int> &sel)
{
  return std::accumulate(sel.begin(), sel.end(), 0.0);
}

}  // namespace

Statistics::Statistics(int ntypes, double rcut, double rcut_smth, double env_protection,
                       std::vector<int> sel) :
    ntypes_(ntypes),
    rcut_(rcut),
    rcut_smth_(rcut_smth),
    env_protection_(env_protection),
    sel_(std::move(sel)),
    min_distance_(std::numeric_limits<double>::infinity()),
    max_neighbors_(ntypes, 0),
    sums_(4 * std::size_t(ntypes), 0.0),
    centers_(ntypes, 0)
{
  if (!sel_.empty() && sel_.size() != std::size_t(ntypes))
    throw Error("Statistics: sel has " + std::to_string(sel_.size()) + " entries, " +
                std::to_string(ntypes) + " types need as many");
}

void Statistics::add(const Domain &domain, const std::vector<std::array<int, 2>> &exclude_types)
{
  std::vector<char> excluded(std::size_t(ntypes_) * ntypes_, 0);
  for (const auto &pair : exclude_types)
    excluded[pair[0] * ntypes_ + pair[1]] = excluded[pair[1] * ntypes_ + pair[0]] = 1;
  std::vector<Neighbor> near;
  std::vector<int> count(ntypes_);
  for (int k = 0; k < domain.num_centers; ++k) {
    const int i = domain.centers[k], type = domain.type[i];
    if (type < 0) continue;
    collect(domain, i, rcut_, near);
    std::fill(count.begin(), count.end(), 0);
    for (const Neighbor &edge : near) {
      ++count[edge.type];
      min_distance_ = std::min(min_distance_, edge.r);
    }
    for (int t = 0; t < ntypes_; ++t) max_neighbors_[t] = std::max(max_neighbors_[t], count[t]);
    if (!sel_.empty()) truncate(near, sel_);
    ++centers_[type];
    double *sums = &sums_[std::size_t(type) * 4];
    for (const Neighbor &edge : near) {
      if (excluded[type * ntypes_ + edge.type]) continue;
      const double s = kernels::radial_switch(edge.r, rcut_, rcut_smth_, env_protection_);
      const double q = s / (edge.r + env_protection_);
      const double dx = q * edge.d[0], dy = q * edge.d[1], dz = q * edge.d[2];
      sums[0] += s;
      sums[1] += s * s;
      sums[2] += dx + dy + dz;
      sums[3] += dx * dx + dy * dy + dz * dz;
    }
  }
}

// One reduction for sums and maxima: each rank puts its maxima into a place of its own, and the sum gathers them.
// Counts travel as doubles (exact up to 2^53).
void Statistics::reduce(const Communicator &comm)
{
  const std::size_t num_sums = sums_.size(), num_maxima = max_neighbors_.size() + 1;
  std::vector<double> values = sums_;
  values.insert(values.end(), centers_.begin(), centers_.end());
  const std::size_t first = values.size();
  values.resize(first + num_maxima * comm.size(), 0.0);
  double *mine = &values[first + num_maxima * comm.rank()];
  std::copy(max_neighbors_.begin(), max_neighbors_.end(), mine);
  mine[num_maxima - 1] = min_distance_;
  comm.all_reduce_sum(values.data(), values.size());

  std::copy_n(values.begin(), num_sums, sums_.begin());
  for (int t = 0; t < ntypes_; ++t) centers_[t] = static_cast<std::int64_t>(values[num_sums + t]);
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

std::vector<double> Statistics::davg(const std::vector<int> &sel, bool set_zero) const
{
  std::vector<double> mean(4 * std::size_t(ntypes_), 0.0);
  for (int t = 0; t < ntypes_ && !set_zero; ++t)
    if (centers_[t] > 0) mean[t * 4] = sums_[t * 4] / (centers_[t] * slots(sel));
  return mean;
}

std::vector<double> Statistics::dstd(const std::vector<int> &sel) const
{
  std::vector<double> deviation(4 * std::size_t(ntypes_), STD_WITHOUT_SAMPLE);
  const auto spread = [](double sum, double squares, double n) {
    const double mean = sum / n;
    return std::max(std::sqrt(std::max(squares / n - mean * mean, 0.0)), SMALLEST_STD);
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

std::vector<int> Statistics::recommended_sel(double factor) const
{
  std::vector<int> sel;
  for (int count : max_neighbors_)
    sel.push_back(std::max(4, static_cast<int>(std::ceil(factor * count / 4.0 - 1e-9)) * 4));
  return sel;
}

}  // namespace dptrain
