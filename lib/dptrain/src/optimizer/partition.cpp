#include "optimizer/partition.h"

#include <algorithm>
#include <numeric>

namespace dptrain {

Partition::Partition(std::shared_ptr<const Communicator> c, std::vector<std::size_t> p) :
    comm(std::move(c)), parts(std::move(p))
{
  const auto own = parts.begin() + comm->rank();
  begin = std::accumulate(parts.begin(), own, std::size_t(0));
  end = begin + *own;
  total = std::accumulate(own, parts.end(), begin);
}

template <class T>
void Partition::append_gathered(const T *own_range, std::vector<double> &to) const
{
  const std::size_t first = to.size();
  to.resize(first + total);
  std::copy_n(own_range, own(), to.begin() + first + begin);
  comm->all_gather(to.data() + first, parts);
}

template void Partition::append_gathered(const double *, std::vector<double> &) const;
template void Partition::append_gathered(const float *, std::vector<double> &) const;

std::vector<std::size_t> equal_parts(std::size_t total, int ranks)
{
  std::vector<std::size_t> parts(ranks, total / ranks);
  for (std::size_t r = 0; r < total % ranks; ++r) ++parts[r];
  return parts;
}

namespace {

// As many blocks as stay within the limit to each rank but the last one, which gets the rest.
std::vector<std::size_t> fill(const std::vector<double> &costs, int ranks, double limit)
{
  std::vector<std::size_t> runs(ranks, 0);
  int rank = 0;
  double sum = 0.0;
  for (double cost : costs) {
    if (sum + cost > limit && runs[rank] > 0 && rank < ranks - 1) {
      ++rank;
      sum = 0.0;
    }
    sum += cost;
    ++runs[rank];
  }
  return runs;
}

double largest_sum(const std::vector<double> &costs, const std::vector<std::size_t> &runs)
{
  double largest = 0.0;
  auto next = costs.begin();
  for (std::size_t run : runs) {
    largest = std::max(largest, std::accumulate(next, next + run, 0.0));
    next += run;
  }
  return largest;
}

}  // namespace

std::vector<std::size_t> runs_by_cost(const std::vector<double> &costs, int ranks)
{
  constexpr int bisections = 40;
  const double sum = std::accumulate(costs.begin(), costs.end(), 0.0);
  double low = sum / ranks, high = sum;
  std::vector<std::size_t> best = fill(costs, ranks, high);
  for (int k = 0; k < bisections; ++k) {
    const double limit = 0.5 * (low + high);
    const std::vector<std::size_t> runs = fill(costs, ranks, limit);
    if (largest_sum(costs, runs) <= limit) {
      best = runs;
      high = limit;
    } else {
      low = limit;
    }
  }
  return best;
}

}  // namespace dptrain
