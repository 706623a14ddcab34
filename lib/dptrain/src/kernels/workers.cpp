#include "kernels/workers.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "kernels/kokkos_types.h"
#include "kernels/runtime.h"

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

void for_blocks(std::size_t n, std::size_t block,
                const std::function<void(std::size_t, std::size_t)> &work)
{
  ensure_runtime();
  const std::size_t blocks = (n + block - 1) / block;
  if (blocks == 1) return work(0, n);
  using Host = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>;
  Kokkos::parallel_for("dptrain::for_blocks", Host(0, static_cast<long>(blocks)), [&](long k) {
    const std::size_t begin = k * block;
    work(begin, std::min(n, begin + block));
  });
}

void for_tasks(std::size_t n, const std::function<void(std::size_t)> &work)
{
  ensure_runtime();
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Policy = Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>>;
  std::exception_ptr failure;
  std::mutex mutex;
  Kokkos::parallel_for("dptrain::for_tasks", Policy(0, static_cast<long>(n), Kokkos::ChunkSize(1)),
                       [&](long k) {
                         try {
                           work(k);
                         } catch (...) {
                           const std::lock_guard<std::mutex> lock(mutex);
                           if (!failure) failure = std::current_exception();
                         }
                       });
  if (failure) std::rethrow_exception(failure);
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
