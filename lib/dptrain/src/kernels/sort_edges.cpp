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

// Edges stand in the order of their keys: of their types, or of two parts of each type.
template <class Real> struct Keys {
  int ntypes, parts;
  const int *type;
  const Real *d[3], *near_squared;

  int number() const { return ntypes * parts; }
  KOKKOS_FORCEINLINE_FUNCTION int operator()(int slot) const
  {
    if (parts == 1) return type[slot];
    const Real x = d[0][slot], y = d[1][slot], z = d[2][slot];
    return 2 * type[slot] + (x * x + y * y + z * z < near_squared[type[slot]] ? 0 : 1);
  }
};

// run[k + 1] = number of edges with key k
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void count_keys(const Team &team, const Keys<Real> &key, int keys,
                                            int first, int count, int *run)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, keys), [&](int t) {
    int number = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, count),
        [&](int e, int &part) { part += key(first + e) == t ? 1 : 0; }, number);
    Kokkos::single(Kokkos::PerThread(team), [&]() { run[t + 1] = number; });
  });
  team.team_barrier();
#else
  (void) team;
  for (int t = 0; t < keys; ++t) run[t + 1] = 0;
  for (int e = 0; e < count; ++e) ++run[key(first + e) + 1];
#endif
}

// Which edge comes to which place; run[k] = first place of key k.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void find_order(const Team &team, const Keys<Real> &key, int keys,
                                            int first, int count, int *run, int *from)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, keys), [&](int t) {
    compress(
        team, count, [&](int e) { return key(first + e) == t; },
        [&](int e, int place) { from[run[t] + place] = e; });
  });
  team.team_barrier();
#else
  (void) team;
  for (int e = 0; e < count; ++e) from[run[key(first + e)]++] = e;
  for (int t = keys; t > 0; --t) run[t] = run[t - 1];
  run[0] = 0;
#endif
}

template <class Real> void sort_by(const Edges<Real> &edges, const Keys<Real> &key, int *runs)
{
  const std::size_t bytes = Order<Real>::bytes(edges.max_count);
  const int keys = key.number();
  launch(
      "dptrain::sort_edges", one_team_each(edges.num_centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank(), first = edges.first[i], count = edges.count[i];
        int *run = runs + static_cast<long>(i) * (keys + 1);
        if (keys == 1) {
          Kokkos::single(Kokkos::PerTeam(team), [&]() {
            run[0] = 0;
            run[1] = count;
          });
          return;
        }
        const Order<Real> order(team_scratch(team, bytes), edges.max_count);
        count_keys(team, key, keys, first, count, run);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          run[0] = 0;
          for (int t = 0; t < keys; ++t) run[t + 1] += run[t];
        });
#if DPTRAIN_DEVICE_PASS
        team.team_barrier();
#endif
        find_order(team, key, keys, first, count, run, order.from);
        for (int a = 0; a < 3; ++a) order.apply(team, count, edges.d[a] + first);
        order.apply(team, count, edges.neighbor + first);
        order.apply(team, count, edges.type + first);
      });
}

}  // namespace

template <class Real> void sort_edges(const Edges<Real> &edges, int *runs)
{
  sort_by(edges, {edges.ntypes, 1, edges.type, {edges.d[0], edges.d[1], edges.d[2]}, nullptr},
          runs);
}

template <class Real> void sort_edges(const Edges<Real> &edges, const Real *near_squared, int *runs)
{
  sort_by(edges, {edges.ntypes, 2, edges.type, {edges.d[0], edges.d[1], edges.d[2]}, near_squared},
          runs);
}

#define DPTRAIN_INSTANTIATE(Real)                       \
  template void sort_edges(const Edges<Real> &, int *); \
  template void sort_edges(const Edges<Real> &, const Real *, int *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
