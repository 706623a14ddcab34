#include "neighbor/engine_lists.h"

#include "kernels/kokkos_types.h"

namespace dptrain {
namespace {

using kernels::RangePolicy;

// Centers of one type to their place behind those of the types before, whose number is begin[0]; begin[1] gets the end.
void place_centers(const EngineLists::Arrays &arrays, int type, int *begin, int *order)
{
  const int *centers = arrays.centers, *types = arrays.type;
  const int n = arrays.num_centers;
  kernels::launch_scan(
      "dptrain::place_centers", RangePolicy(0, n), KOKKOS_LAMBDA(int k, int &place, bool final) {
        const int atom = centers[k], own = types[atom] == type ? 1 : 0;
        if (final && own) order[begin[0] + place] = atom;
        place += own;
        if (final && k == n - 1) begin[1] = begin[0] + place;
      });
}

// Atom, frame, first slot, size of the list and first atom of the frame of each center; its list.
void number_centers(const EngineLists::Arrays &arrays, const int *centers, int n, int slots,
                    int *numbers, const int **rows)
{
  const int *size = arrays.num_neighbors, *table = arrays.table;
  const std::ptrdiff_t stride = arrays.row_stride;
  kernels::launch(
      "dptrain::number_centers", RangePolicy(0, n), KOKKOS_LAMBDA(int k) {
        const int atom = centers[k];
        numbers[k] = atom;
        numbers[n + k] = 0;
        numbers[2 * n + k] = k * slots;
        numbers[3 * n + k] = size[atom];
        numbers[4 * n + k] = 0;
        rows[k] = table + atom * stride;
      });
}

}  // namespace

void EngineLists::set(const Arrays &arrays, const std::vector<char> &skip)
{
  arrays_ = arrays;
  const int ntypes = static_cast<int>(skip.size());
  order_.resize(arrays.num_centers);
  int *begin = begin_copy_.resize_clear(ntypes + 1L);
  begin_.assign(ntypes + 1, 0);
  if (arrays.num_centers == 0) return;
  for (int type = 0; type < ntypes; ++type)
    // nobody has the type -2
    place_centers(arrays, skip[type] ? -2 : type, begin + type, order_.data());
  begin_copy_.copy_to(begin_.data());
}

void EngineLists::rows(int type, int begin, int n, int slots, int *numbers, const int **rows) const
{
  number_centers(arrays_, centers(type) + begin, n, slots, numbers, rows);
}

std::size_t EngineLists::memory_bytes() const
{
  return begin_copy_.memory_bytes() + order_.memory_bytes();
}

}  // namespace dptrain
