// The direct way of RadialTable: every slot of a chunk is an interval whose first knot carries the function's value and
// slope at the argument of the edge. Arranged on the host: this is the way of relu nets and of odd configurations.

#include <algorithm>

#include "potential/descriptor/radial_table.h"

namespace dptrain {

// Where the row of argument e of a net begins, in the rows of the chunk: that of its slot, or of padding.
template <class Real>
long RadialTable<Real>::direct_row(std::size_t net, std::size_t e, long padding_offset) const
{
  const auto &slots = slots_of_net_[net];
  if (e < slots.size())
    return static_cast<long>(slots[e]) * kernels::rows_per_interval<Real> * width_;
  return padding_offset + static_cast<long>(net * padding_.size() + e - slots.size()) * width_;
}

template <class Real>
void RadialTable<Real>::fill_direct(const double *parameters, const kernels::Edges<Real> &edges,
                                    int first_net, int net_step, const kernels::Table<Real> &table)
{
  const auto host = [](const auto *data, std::size_t n) {
    std::vector<std::decay_t<decltype(*data)>> copy(n);
    kernels::copy_out(copy.data(), data, n * sizeof(*data));
    return copy;
  };
  const auto first = host(edges.first, edges.num_centers),
             count = host(edges.count, edges.num_centers);
  const auto type = host(edges.type, arguments_.size());
  const auto arguments = arguments_.to_host();
  slots_of_net_.assign(knots_.size(), {});
  arguments_of_net_.assign(knots_.size(), {});
  for (int i = 0; i < edges.num_centers; ++i)
    for (int slot = first[i]; slot < first[i] + count[i]; ++slot) {
      const int net = first_net + type[slot] * net_step;
      slots_of_net_[net].push_back(slot);
      arguments_of_net_[net].push_back(arguments[slot]);
    }

  std::vector<Real> rows(table.padding_offset + table.net_size * knots_.size(), Real(0));
  for (std::size_t k = 0; k < knots_.size(); ++k) {
    auto &all = arguments_of_net_[k];
    all.insert(all.end(), padding_.begin(), padding_.end());
    const std::size_t n = all.size(), slots = n - padding_.size();
    const auto values = host(jets(parameters, static_cast<int>(k), Place::elsewhere, all, 1.0, 1),
                             2 * n * channels_);
    for (std::size_t e = 0; e < n; ++e) {
      Real *row = rows.data() + direct_row(k, e, table.padding_offset);
      for (int order = 0; order < (e < slots ? 2 : 1); ++order)
        std::copy_n(values.begin() + (order * n + e) * channels_, channels_, row + order * width_);
    }
  }
  chunk_rows_.copy_from(rows);
  if (with_gradient_) chunk_gradient_.resize_clear(rows.size());
}

template <class Real> void RadialTable<Real>::end_chunk(const double *parameters, double *gradient)
{
  if (!direct_sweep_ || !with_gradient_) return;
  const std::vector<Real> rows = chunk_gradient_.to_host();
  const long padding_offset =
      static_cast<long>(rows.size() - knots_.size() * padding_.size() * width_);
  for (std::size_t k = 0; k < knots_.size(); ++k) {
    const auto &all = arguments_of_net_[k];
    const std::size_t n = all.size(), slots = n - padding_.size();
    jets(parameters, static_cast<int>(k), Place::elsewhere, all, 1.0, 1);
    std::vector<double> g(2 * n * channels_, 0.0);
    for (std::size_t e = 0; e < n; ++e) {
      const Real *row = rows.data() + direct_row(k, e, padding_offset);
      for (int order = 0; order < (e < slots ? 2 : 1); ++order)
        std::copy_n(row + order * width_, channels_, g.begin() + (order * n + e) * channels_);
    }
    output_gradient_.copy_from(g);
    functions_->reverse(static_cast<int>(k), Place::elsewhere, parameters, static_cast<int>(n), 1,
                        output_gradient_.data(), gradient);
  }
}

template void RadialTable<double>::fill_direct(const double *, const kernels::Edges<double> &, int,
                                               int, const kernels::Table<double> &);
template void RadialTable<float>::fill_direct(const double *, const kernels::Edges<float> &, int,
                                              int, const kernels::Table<float> &);
template void RadialTable<double>::end_chunk(const double *, double *);
template void RadialTable<float>::end_chunk(const double *, double *);

}  // namespace dptrain
