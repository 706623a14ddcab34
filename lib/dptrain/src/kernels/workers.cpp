#include "kernels/workers.h"

#include <algorithm>

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

int chosen_workers = 0;

}  // namespace

int workers()
{
  if (on_device) return 1;
  return chosen_workers > 0 ? chosen_workers : ExecutionSpace().concurrency();
}

void set_workers(int number)
{
  chosen_workers = number;
}

template <class Real> void sum_copies(Real *values, long n, const Copies &copies)
{
  if (copies.number == 1 || n == 0) return;
  constexpr long block = 1024;
  const int number = copies.number;
  const long stride = copies.stride;
  launch(
      "dptrain::sum_copies", one_team_each(static_cast<int>((n + block - 1) / block)),
      KOKKOS_LAMBDA(const Team &team) {
        Real *to = values + team.league_rank() * block;
        const long left = n - team.league_rank() * block;
        for (int copy = 1; copy < number; ++copy) {
          const Real *from = to + copy * stride;
          team_for(team, static_cast<int>(left < block ? left : block),
                   [=](int k) DPTRAIN_ALWAYS_INLINE { to[k] += from[k]; });
        }
      });
}

template void sum_copies(double *, long, const Copies &);
template void sum_copies(float *, long, const Copies &);

}  // namespace dptrain::kernels
