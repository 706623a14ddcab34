#include "frames/frame_set.h"

#include <algorithm>

#include "base/advice.h"

namespace dptrain {

void FrameSet::set(const Domain *domains, int n, const std::vector<char> &skip, bool copy,
                   double search_rcut)
{
  way_ = search_rcut > 0.0 ? Way::search : Way::host_lists;
  largest_row_ = 0;
  offsets_.assign(1, 0);
  centers_.resize(skip.size());
  for (auto &list : centers_) list.clear();
  if (way_ == Way::search &&
      std::any_of(domains, domains + n, [](const Domain &d) { return d.in_kernel_memory; })) {
    if (n > 1 || copy)
      throw internal_error("one domain in the memory of the kernels, and pass A alone: several at "
                           "a time, and gradients, take copies from host memory");
    return set_engine_lists(domains[0], skip);
  }
  for (int f = 0; f < n; ++f) {
    const Domain &d = domains[f];
    mask_ = d.neighbor_mask;
    if (d.entry_stride != 1 && way_ == Way::host_lists)
      throw internal_error(
          "neighbor lists that the host reads have their entries one after the other");
    for (int k = 0; k < d.num_centers; ++k) {
      const int i = d.centers[k], type = d.type[i];
      if (type < 0 || skip[type]) continue;
      if (way_ == Way::search) {
        centers_[type].push_back({offsets_[f] + i, f, nullptr, 0});
        continue;
      }
      centers_[type].push_back({offsets_[f] + i, f, d.row(i), d.num_neighbors[i]});
      largest_row_ = std::max(largest_row_, d.num_neighbors[i]);
    }
    offsets_.push_back(offsets_.back() + d.nall);
  }
  set_flat(domains, n, copy);
  if (way_ == Way::search)
    search_.set(n == 1 ? domains[0].x : host_x_.data(), offsets_, x_, type_, search_rcut);
}

void FrameSet::set_engine_lists(const Domain &domain, const std::vector<char> &skip)
{
  if (!domain.neighbor_table && domain.num_centers > 0)
    throw internal_error("a domain in the memory of the kernels needs its neighbors in a table");
  way_ = Way::engine_lists;
  mask_ = domain.neighbor_mask;
  offsets_.push_back(domain.nall);
  largest_row_ = domain.largest_row;
  x_ = domain.x;
  type_ = domain.type;
  engine_lists_.set({domain.centers, domain.num_centers, domain.type, domain.num_neighbors,
                     domain.neighbor_table, domain.row_stride, domain.entry_stride},
                    skip);
}

// One frame in host memory is read where it is, unless it may change there.
void FrameSet::set_flat(const Domain *domains, int n, bool copy)
{
  if (n == 1 && !copy && !kernels::separate_memory()) {
    x_ = domains[0].x;
    type_ = domains[0].type;
    return;
  }
  if (n == 1) {
    own_x_.copy_from(domains[0].x, 3L * domains[0].nall);
    x_ = own_x_.data();
    type_ = own_type_.set(domains[0].type, domains[0].nall);
    return;
  }
  host_x_.clear();
  host_type_.clear();
  for (int f = 0; f < n; ++f) {
    host_x_.insert(host_x_.end(), domains[f].x, domains[f].x + 3L * domains[f].nall);
    host_type_.insert(host_type_.end(), domains[f].type, domains[f].type + domains[f].nall);
  }
  own_x_.copy_from(host_x_);
  x_ = own_x_.data();
  type_ = own_type_.set(host_type_);
}

std::size_t FrameSet::memory_bytes() const
{
  std::size_t n = search_.memory_bytes() + engine_lists_.memory_bytes() + own_x_.memory_bytes() +
                  own_type_.memory_bytes() + host_x_.capacity() * sizeof(double) +
                  host_type_.capacity() * sizeof(int);
  for (const auto &list : centers_) n += list.capacity() * sizeof(Center);
  return n;
}

}  // namespace dptrain
