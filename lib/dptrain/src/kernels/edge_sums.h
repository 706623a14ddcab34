#pragma once

#include "kernels/kokkos_types.h"

// Sums over the edges of a center and over the channels of an edge, of so many rows. `add` gets a function of the number of
// the row, a Constant (`unrolled`), that gives the sum to add to.

namespace dptrain::kernels {

namespace detail {

/// Four sums in variables of their own: no compiler keeps arrays in registers while it adds up vectors.
template <class Real> struct FourSums {
  Real &s0, &s1, &s2, &s3;
  template <int k> KOKKOS_FORCEINLINE_FUNCTION Real &operator()(Constant<k>) const
  {
    if constexpr (k == 0) return s0;
    if constexpr (k == 1) return s1;
    if constexpr (k == 2) return s2;
    if constexpr (k == 3) return s3;
  }
};

}  // namespace detail

/// For all channels m and edges e add(load(e), m, sum), where sum(c) is t[c][width] at m, set to zero first. `load` returns by
/// value what does not depend on the channel. On the host edges run outside and channels are vectors; on a device each lane
/// keeps the sums of its channels in registers.
template <int rows, class Real, int W, class Load, class Add>
KOKKOS_FORCEINLINE_FUNCTION void sum_over_edges(const Team &team, int num_edges, Width<W> width,
                                                Real *t, const Load &load, const Add &add)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, int(width)), [&](int m) {
    Real sums[rows] = {};
    for (int e = 0; e < num_edges; ++e) add(load(e), m, [&](int c) -> Real & { return sums[c]; });
    for (int c = 0; c < rows; ++c) t[c * width + m] = sums[c];
  });
  team.team_barrier();
#else
  (void) team;
  _Pragma("omp simd") for (int m = 0; m < rows * width; ++m) t[m] = 0;
  for (int e = 0; e < num_edges; ++e) {
    const auto edge = load(e);
    _Pragma("omp simd") for (int m = 0; m < width; ++m)
        add(edge, m, [=](int c) DPTRAIN_ALWAYS_INLINE -> Real & { return t[c * width + m]; });
  }
#endif
}

/// `rows` sums over the channels for each edge: add(load(e), m, sum) for all m, then store(e, sum).
template <int rows, class Real, int W, class Load, class Add, class Store>
KOKKOS_FORCEINLINE_FUNCTION void sum_over_channels(const Team &team, int num_edges, Width<W> width,
                                                   const Load &load, const Add &add,
                                                   const Store &store)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, num_edges), [&](int e) {
    const auto edge = load(e);
    Sums<Real, rows> sums;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, int(width)),
        [&](int m, Sums<Real, rows> &part) {
          add(edge, m, [&](int c) -> Real & { return part.s[c]; });
        },
        sums);
    Kokkos::single(Kokkos::PerThread(team), [&]() { store(e, [&](int c) { return sums.s[c]; }); });
  });
  team.team_barrier();
#else
  (void) team;
  for (int e = 0; e < num_edges; ++e) {
    const auto edge = load(e);
    if constexpr (rows == 4) {
      Real s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") for (int m = 0; m < width; ++m)
          add(edge, m, detail::FourSums<Real>{s0, s1, s2, s3});
      store(e, detail::FourSums<Real>{s0, s1, s2, s3});
    } else {
      // a width is a multiple of the lanes (padded_width), so that each lane has sums of its own
      constexpr int lanes = 64 / sizeof(Real);
      Real part[rows][lanes] = {}, sums[rows];
      for (int begin = 0; begin < width; begin += lanes)
        _Pragma("omp simd") for (int lane = 0; lane < lanes; ++lane)
            add(edge, begin + lane,
                [&](int c) DPTRAIN_ALWAYS_INLINE -> Real & { return part[c][lane]; });
      for (int c = 0; c < rows; ++c) {
        Real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (int lane = 0; lane < lanes; ++lane) sum +=
            part[c][lane];
        sums[c] = sum;
      }
      store(e, [&](int c) DPTRAIN_ALWAYS_INLINE { return sums[c]; });
    }
  }
#endif
}

}  // namespace dptrain::kernels
