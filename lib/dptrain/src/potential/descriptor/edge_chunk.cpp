#include "potential/descriptor/edge_chunk.h"

#include <algorithm>

namespace dptrain {

// Numbers and rows of the centers, where kernels read them. Returns the most slots of a center.
template <class Real>
int EdgeChunk<Real>::number_centers(const FrameSet &frames, int type, int begin, int n,
                                    int capacity)
{
  if (const EngineLists *lists = frames.engine_lists()) {
    const int slots = frames.largest_row();
    num_slots_ = n * slots;
    lists->rows(type, begin, n, slots, centers_.resize(5L * n), rows_.resize(n));
    return slots;
  }
  host_.resize(5L * n);
  host_rows_.resize(n);
  int *center = host_.data(), *frame = center + n, *first = frame + n, *size = first + n,
      *offset = size + n;
  const bool search = frames.search() != nullptr;
  const auto *centers = frames.centers(type).data() + begin;
  num_slots_ = 0;
  int most = 0;
  for (int i = 0; i < n; ++i) {
    const auto &c = centers[i];
    center[i] = c.atom;
    frame[i] = c.frame;
    first[i] = num_slots_;
    size[i] = c.row_size;
    offset[i] = search ? 0 : frames.offset(c.frame);
    host_rows_[i] = c.row;
    const int slots = search ? capacity : c.row_size;
    num_slots_ += slots;
    most = std::max(most, slots);
  }
  centers_.copy_from(host_);
  if (!search) rows_.copy_from(host_rows_);
  return most;
}

template <class Real>
void EdgeChunk<Real>::gather(const FrameSet &frames, const ChunkRules &rules, int ntypes, int type,
                             int begin, int n, int capacity, kernels::Array<GatherReport> &reports)
{
  const int most = number_centers(frames, type, begin, n, capacity);
  edges_.num_centers = n;
  edges_.max_count = most;
  edges_.ntypes = ntypes;
  edges_.centers = centers_.data();
  edges_.frame = centers_.data() + n;
  edges_.first = centers_.data() + 2L * n;
  edges_.count = count_.resize(n);
  edges_.neighbor = neighbor_.resize(num_slots_);
  edges_.type = type_.resize(num_slots_);
  Real *d = d_.resize(3L * num_slots_);
  for (int a = 0; a < 3; ++a) edges_.d[a] = d + static_cast<long>(a) * num_slots_;
  edges_.empty = rules.sel ? empty_.resize(static_cast<long>(n) * ntypes) : nullptr;

  ChunkRows rows;
  rows.x = frames.x();
  rows.type = frames.type();
  rows.row = rows_.data();
  rows.row_size = centers_.data() + 3L * n;
  rows.offset = centers_.data() + 4L * n;
  rows.max_size = most;
  rows.mask = frames.mask();
  if (frames.engine_lists()) rows.entry_stride = frames.engine_lists()->entry_stride();
  if (NeighborSearch *search = frames.search())
    search->find(edges_.centers, edges_.frame, n, rules.rcut, capacity, rows,
                 centers_.data() + 3L * n);
  gather_edges(rows, rules, edges_, reports.data(), static_cast<int>(reports.size()));
}

template <class Real> std::size_t EdgeChunk<Real>::memory_bytes() const
{
  return centers_.memory_bytes() + count_.memory_bytes() + neighbor_.memory_bytes() +
         type_.memory_bytes() + rows_.memory_bytes() + d_.memory_bytes() + empty_.memory_bytes() +
         host_.capacity() * sizeof(int) + host_rows_.capacity() * sizeof(int *);
}

template class EdgeChunk<double>;
template class EdgeChunk<float>;

}  // namespace dptrain
