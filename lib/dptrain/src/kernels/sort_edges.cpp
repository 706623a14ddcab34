#include "kernels/kokkos_types.h"
#include "kernels/moments.h"

namespace dptrain::kernels {

namespace {

/// Memory of a team for the order of the edges of one center, and for one array of them before it is in this order.
template <class Real> struct Order {
  int *from;     ///< the edge that comes to a place
  Real *before;  ///< or whole numbers, which are not larger

  static std::size_t bytes(int most)
  {
    return static_cast<std::size_t>(most) * (sizeof(Real) + sizeof(int)) + 64;
  }
  KOKKOS_FORCEINLINE_FUNCTION Order(char *memory, int most) :
      from(reinterpret_cast<int *>(memory) + most * (sizeof(Real) / sizeof(int))),
      before(reinterpret_cast<Real *>(memory))
  {
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const Team &team, int count, T *values) const
  {
    static_assert(sizeof(T) <= sizeof(Real), "");
    T *old = reinterpret_cast<T *>(before);
    const int *place = from;
    team_for(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE { old[e] = values[e]; });
    team_for(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE { values[e] = old[place[e]]; });
  }
};

// run[t + 1] = number of edges of type t
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void count_types(const Team &team, const Edges<Real> &edges, int first,
                                             int count, int *run)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edges.ntypes), [&](int t) {
    int number = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, count),
        [&](int e, int &part) { part += edges.type[first + e] == t ? 1 : 0; }, number);
    Kokkos::single(Kokkos::PerThread(team), [&]() { run[t + 1] = number; });
  });
  team.team_barrier();
#else
  (void) team;
  for (int t = 0; t < edges.ntypes; ++t) run[t + 1] = 0;
  for (int e = 0; e < count; ++e) ++run[edges.type[first + e] + 1];
#endif
}

// Which edge comes to which place; run[t] = first place of type t.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void find_order(const Team &team, const Edges<Real> &edges, int first,
                                            int count, int *run, int *from)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edges.ntypes), [&](int t) {
    compress(
        team, count, [&](int e) { return edges.type[first + e] == t; },
        [&](int e, int place) { from[run[t] + place] = e; });
  });
  team.team_barrier();
#else
  (void) team;
  for (int e = 0; e < count; ++e) from[run[edges.type[first + e]]++] = e;
  for (int t = edges.ntypes; t > 0; --t) run[t] = run[t - 1];
  run[0] = 0;
#endif
}

}  // namespace

template <class Real> void sort_edges(const Edges<Real> &edges, int *runs)
{
  const std::size_t bytes = Order<Real>::bytes(edges.max_count);
  const int ntypes = edges.ntypes;
  launch(
      "dptrain::sort_edges", one_team_each(edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank(), first = edges.first[i], count = edges.count[i];
        int *run = runs + static_cast<long>(i) * (ntypes + 1);
        if (ntypes == 1) {
          Kokkos::single(Kokkos::PerTeam(team), [&]() {
            run[0] = 0;
            run[1] = count;
          });
          return;
        }
        const Order<Real> order(team_scratch(team, bytes), edges.max_count);
        count_types(team, edges, first, count, run);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          run[0] = 0;
          for (int t = 0; t < ntypes; ++t) run[t + 1] += run[t];
        });
#if DPTRAIN_DEVICE_PASS
        team.team_barrier();
#endif
        find_order(team, edges, first, count, run, order.from);
        for (int a = 0; a < 3; ++a) order.apply(team, count, edges.d[a] + first);
        order.apply(team, count, edges.neighbor + first);
        order.apply(team, count, edges.type + first);
      });
}

template void sort_edges(const Edges<double> &, int *);
template void sort_edges(const Edges<float> &, int *);

}  // namespace dptrain::kernels
