#include "potential/descriptor/edge_chunk.h"

#include <algorithm>

#include "kernels/vectors.h"

namespace dptrain {

// Places of the arrays in one block, each of which begins where vectors do.
template <class Real> void EdgeChunk<Real>::lay_out()
{
  constexpr std::size_t line = 8;  // words
  const auto n = static_cast<std::size_t>(edges_.num_centers),
             slots = static_cast<std::size_t>(num_slots_);
  std::size_t end = 0;
  const auto place = [&](std::size_t numbers, std::size_t size) {
    const std::size_t begin = end;
    end += (numbers * size + 8 * line - 1) / (8 * line) * line;
    return begin;
  };
  const std::size_t centers = place(5 * n, sizeof(int)), count = place(n, sizeof(int)),
                    neighbor = place(slots, sizeof(int)), type = place(slots, sizeof(int)),
                    empty = place(has_limits_ ? n * edges_.ntypes : 0, sizeof(Real));
  std::size_t d[3];
  for (std::size_t &axis : d) axis = place(slots, sizeof(Real));
  std::int64_t *const memory = memory_.resize(end);
  const auto ints = [&](std::size_t begin) { return reinterpret_cast<int *>(memory + begin); };
  const auto reals = [&](std::size_t begin) { return reinterpret_cast<Real *>(memory + begin); };
  centers_ = ints(centers);
  edges_.centers = centers_;
  edges_.frame = centers_ + n;
  edges_.first = centers_ + 2 * n;
  edges_.count = ints(count);
  edges_.neighbor = ints(neighbor);
  edges_.type = ints(type);
  for (int a = 0; a < 3; ++a) edges_.d[a] = reals(d[a]);
  edges_.empty = has_limits_ ? reals(empty) : nullptr;
}

template <class Real> void EdgeChunk<Real>::copy_from(const EdgeChunk &other)
{
  edges_ = other.edges_;
  num_slots_ = other.num_slots_;
  has_limits_ = other.has_limits_;
  lay_out();
  copied_.clear();
  kernels::copy_words(other.memory_.data(), static_cast<long>(memory_.size()), memory_.data());
}

// In a simulation they are what they were in the step before, until atoms change.
template <class Real> void EdgeChunk<Real>::copy_centers(bool search)
{
  const std::size_t before = memory_.memory_bytes();
  lay_out();
  if (search && before == memory_.memory_bytes() && copied_ == host_) return;
  copied_.clear();
  kernels::copy_in(centers_, host_.data(), host_.size() * sizeof(int));
  if (search) copied_ = host_;
}

// Numbers and rows of the centers, where kernels read them. Returns the most slots of a center.
template <class Real>
int EdgeChunk<Real>::number_centers(const FrameSet &frames, int type, int begin, int n,
                                    int capacity)
{
  if (const EngineLists *lists = frames.engine_lists()) {
    const int slots = frames.largest_row();
    num_slots_ = n * slots;
    copied_.clear();
    lay_out();
    lists->rows(type, begin, n, slots, centers_, rows_.resize(n));
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
  copy_centers(search);
  if (!search) rows_.copy_from(host_rows_);
  return most;
}

template <class Real>
void EdgeChunk<Real>::gather(const FrameSet &frames, const ChunkRules &rules, int ntypes, int type,
                             int begin, int n, int capacity, kernels::Array<GatherReport> &reports)
{
  edges_.num_centers = n;
  edges_.ntypes = ntypes;
  has_limits_ = rules.sel != nullptr;
  const int most = number_centers(frames, type, begin, n, capacity);
  edges_.max_count = most;

  ChunkRows rows;
  rows.x = frames.x();
  rows.type = frames.type();
  rows.row = rows_.data();
  rows.row_size = centers_ + 3L * n;
  rows.offset = centers_ + 4L * n;
  rows.max_size = most;
  rows.mask = frames.mask();
  if (frames.engine_lists()) rows.entry_stride = frames.engine_lists()->entry_stride();
  if (const NeighborSearch *search = frames.search())
    search->find(edges_.centers, edges_.frame, n, rules.rcut, capacity, lists_, rows,
                 centers_ + 3L * n);
  gather_edges(rows, rules, edges_, reports.data(), static_cast<int>(reports.size()));
}

template <class Real> std::size_t EdgeChunk<Real>::memory_bytes() const
{
  return memory_.memory_bytes() + rows_.memory_bytes() + lists_.memory_bytes() +
         (host_.capacity() + copied_.capacity()) * sizeof(int) +
         host_rows_.capacity() * sizeof(int *);
}

template class EdgeChunk<double>;
template class EdgeChunk<float>;

}  // namespace dptrain
