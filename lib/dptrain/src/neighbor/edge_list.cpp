#include "neighbor/edge_list.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "dptrain/error.h"

namespace dptrain {

void EdgeList::gather(const Domain &domain, const EdgeRules &rules, int type, const int *centers,
                      int num_centers)
{
  centers_.assign(centers, centers + num_centers);
  first_.assign(1, 0);
  neighbor_.clear();
  net_.clear();
  for (auto *column : {&d_[0], &d_[1], &d_[2], &row_[0], &row_[1], &row_[2], &row_[3], &arg_,
                       &inv_r_, &darg_, &q_, &dq_})
    column->clear();
  min_distance_ = std::numeric_limits<double>::infinity();
  for (int c = 0; c < num_centers; ++c) {
    collect(domain, rules, centers[c]);
    truncate(rules);
    append(rules, type);
    first_.push_back(static_cast<int>(neighbor_.size()));
  }
  reserve_values();
}

void EdgeList::collect(const Domain &domain, const EdgeRules &rules, int center)
{
  found_.clear();
  const double *xi = domain.x + 3L * center;
  if (!std::isfinite(xi[0] + xi[1] + xi[2]))
    throw Error("the position of an atom is not finite: the simulation has blown up (check the "
                "time step, the start "
                "configuration and the model)");
  const double rc2 = rules.rcut * rules.rcut;
  const int *row = domain.neighbors[center];
  double nearest = std::numeric_limits<double>::infinity();
  for (int k = 0; k < domain.num_neighbors[center]; ++k) {
    const int j = row[k] & domain.neighbor_mask;
    const double *xj = domain.x + 3L * j;
    const double dx = xj[0] - xi[0], dy = xj[1] - xi[1], dz = xj[2] - xi[2];
    const double r2 = dx * dx + dy * dy + dz * dz;
    if (r2 >= rc2 || domain.type[j] < 0) continue;
    nearest = std::min(nearest, r2);
    found_.push_back({r2, {dx, dy, dz}, j, domain.type[j]});
  }
  min_distance_ = std::min(min_distance_, std::sqrt(nearest));
}

// Keeps the list order where nothing is cut: sums do not depend on sel then.
void EdgeList::truncate(const EdgeRules &rules)
{
  counts_.assign(rules.ntypes, 0);
  for (const auto &n : found_) ++counts_[n.type];
  const int slots = std::accumulate(rules.sel.begin(), rules.sel.end(), 0);
  bool over = static_cast<int>(found_.size()) > slots;
  for (int t = 0; t < rules.ntypes; ++t) over = over || counts_[t] > rules.sel[t];
  if (!over) return;
  ++overflow_;
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Neighbor &a, const Neighbor &b) { return a.r2 < b.r2; });
  if (static_cast<int>(found_.size()) > slots) found_.resize(slots);
  counts_.assign(rules.ntypes, 0);
  const auto end = std::remove_if(found_.begin(), found_.end(), [&](const Neighbor &n) {
    if (counts_[n.type] == rules.sel[n.type]) return true;
    ++counts_[n.type];
    return false;
  });
  found_.erase(end, found_.end());
}

void EdgeList::append(const EdgeRules &rules, int type)
{
  const double zero[3] = {0.0, 0.0, 0.0};
  for (int t = 0; t < rules.ntypes; ++t) {
    const int net = rules.type_one_side ? t : type + t * rules.ntypes;
    const int pair = type * rules.ntypes + t;
    const bool hidden = rules.hidden[pair];
    if (!hidden && !rules.dropped[pair])
      for (const auto &n : found_)
        if (n.type == t) append_edge(n.index, net, n.d);
    const int empty = rules.sel[t] - (hidden ? 0 : counts_[t]);
    const double p = rules.padding_arg[type];
    if (empty == 0 || p == 0.0) continue;
    append_edge(-1, net, zero);
    row_[0].resize(neighbor_.size());
    arg_.resize(neighbor_.size());
    row_[0].back() = empty * p;
    arg_.back() = p;
  }
}

void EdgeList::append_edge(int neighbor, int net, const double *d)
{
  neighbor_.push_back(neighbor);
  net_.push_back(net);
  for (int a = 0; a < 3; ++a) d_[a].push_back(d[a]);
}

// Padding edges have no derivative: everything but row[0] and arg is zero there.
void EdgeList::reserve_values()
{
  for (auto *column : {&row_[0], &row_[1], &row_[2], &row_[3], &arg_, &inv_r_, &darg_, &q_, &dq_})
    column->resize(neighbor_.size(), 0.0);
}

kernels::Edges EdgeList::view()
{
  kernels::Edges e;
  e.num_centers = static_cast<int>(centers_.size());
  e.num_edges = static_cast<int>(neighbor_.size());
  e.centers = centers_.data();
  e.first = first_.data();
  e.neighbor = neighbor_.data();
  e.net = net_.data();
  for (int a = 0; a < 3; ++a) e.d[a] = d_[a].data();
  for (int a = 0; a < 4; ++a) e.row[a] = row_[a].data();
  e.arg = arg_.data();
  e.inv_r = inv_r_.data();
  e.darg = darg_.data();
  e.q = q_.data();
  e.dq = dq_.data();
  return e;
}

std::size_t EdgeList::memory_bytes() const
{
  return neighbor_.capacity() * (12 * sizeof(double) + 2 * sizeof(int)) +
         found_.capacity() * sizeof(Neighbor);
}

}  // namespace dptrain
