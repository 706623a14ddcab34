#include "kernels/adam.h"

#include <algorithm>

#include "kernels/kokkos_types.h"
#include "kernels/workers.h"

namespace dptrain::kernels {

namespace {

constexpr long numbers_of_a_team = 512;  // of a device

// A device reads the rates where they are; on a host a loop would read them again for each number.
struct Rates {
#if DPTRAIN_VECTOR_LANES
  explicit Rates(const AdamRates *from) : rates(*from) {}
  AdamRates get() const
  {
    return rates;
  }
  AdamRates rates;
#else
  KOKKOS_FORCEINLINE_FUNCTION AdamRates get() const
  {
    return *rates;
  }
  const AdamRates *rates;
#endif
};

template <class T>
KOKKOS_FORCEINLINE_FUNCTION T change_of(const AdamConstants<T> &c, const AdamRates &rates, T g,
                                        T &mean, T &square)
{
  const T m = c.beta1 * mean + c.rest1 * g;
  const T v = c.beta2 * square + c.rest2 * g * g;
  mean = m;
  square = v;
  return static_cast<T>(rates.rate) * m /
         (sqrt(v) * static_cast<T>(rates.inverse_root) + c.epsilon);
}

template <class T> struct AdamStep {
  AdamConstants<T> c;
  Rates rates;
  const double *gradient;
  T *mean, *square;
  double *parameters;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(long k) const
  {
    const AdamRates now = rates.get();
    const T g = static_cast<T>(gradient[k]) + c.decay * static_cast<T>(parameters[k]);
    parameters[k] = now.keep * parameters[k] - change_of(c, now, g, mean[k], square[k]);
  }
};

template <class From, class To> struct Copy {
  const From *from;
  To *to;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(long k) const { to[k] = static_cast<To>(from[k]); }
};

template <class T> struct AdamChange {
  AdamConstants<T> c;
  Rates rates;
  T *gradient, *mean, *square;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(long k) const
  {
    gradient[k] = change_of(c, rates.get(), gradient[k], mean[k], square[k]);
  }
};

template <class T> struct SubtractChange {
  Rates rates;
  const T *change;
  double *parameters;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(long k) const
  {
    parameters[k] = rates.get().keep * parameters[k] - change[k];
  }
};

// The same for each of several matrices: of(m)(k) does number k of matrix m.
template <class F> void for_matrices(const char *name, const MatrixPlaces &places, const F &of)
{
#if DPTRAIN_VECTOR_LANES
  for (int m = 0; m < places.number; ++m) for_all_here(name, places.size, of(m));
#else
  const long size = places.size;
  const int blocks = static_cast<int>((size + numbers_of_a_team - 1) / numbers_of_a_team);
  launch(
      name, one_team_each(places.number * blocks), KOKKOS_LAMBDA(const Team &team) {
        const auto matrix = of(team.league_rank() / blocks);
        const long begin = team.league_rank() % blocks * numbers_of_a_team;
        const long left = size - begin;
        team_for(team, static_cast<int>(left < numbers_of_a_team ? left : numbers_of_a_team),
                 [=](int k) DPTRAIN_ALWAYS_INLINE { matrix(begin + k); });
      });
#endif
}

template <class From, class T> struct Gather {
  MatrixPlaces p;
  const From *values;
  T *work;
  KOKKOS_FORCEINLINE_FUNCTION Copy<From, T> operator()(int m) const
  {
    return {values + p.offsets[m], work + m * p.size};
  }
};

template <class T> struct Scatter {
  MatrixPlaces p;
  const T *work;
  T *values;
  KOKKOS_FORCEINLINE_FUNCTION Copy<T, T> operator()(int m) const
  {
    return {work + m * p.size, values + p.offsets[m]};
  }
};

template <class T> struct ChangeMatrices {
  MatrixPlaces p;
  AdamConstants<T> c;
  const AdamRates *rates;
  T *work, *mean, *square;
  KOKKOS_FORCEINLINE_FUNCTION AdamChange<T> operator()(int m) const
  {
    return {c, Rates{rates + m}, work + m * p.size, mean + p.offsets[m], square + p.offsets[m]};
  }
};

template <class T> struct SubtractMatrices {
  MatrixPlaces p;
  const AdamRates *rates;
  const T *work;
  double *parameters;
  KOKKOS_FORCEINLINE_FUNCTION SubtractChange<T> operator()(int m) const
  {
    return {Rates{rates + m}, work + m * p.size, parameters + p.offsets[m]};
  }
};

}  // namespace

void append_adam_parts(long begin, long size, std::vector<Part> &parts)
{
  const long most = on_device ? numbers_of_a_team : size;
  for (long k = 0; k < size; k += most) parts.push_back({begin + k, std::min(most, size - k)});
}

template <class T>
void adam_step(const AdamConstants<T> &constants, const AdamRates *rates, const Array<Part> &parts,
               const double *gradient, T *mean, T *square, double *parameters)
{
  const Part *const part = parts.data();
#if DPTRAIN_VECTOR_LANES
  constexpr long numbers_of_a_thread = 16384;  // less is not worth waking one
  for (std::size_t p = 0; p < parts.size(); ++p)
    for_blocks(part[p].size, numbers_of_a_thread, [&](std::size_t begin, std::size_t end) {
      const long first = part[p].begin + static_cast<long>(begin);
      for_all_here("dptrain::adam_step", static_cast<long>(end - begin),
                   AdamStep<T>{constants, Rates{rates}, gradient + first, mean + first,
                               square + first, parameters + first});
    });
#else
  const AdamStep<T> step{constants, Rates{rates}, gradient, mean, square, parameters};
  launch(
      "dptrain::adam_step", one_team_each(static_cast<int>(parts.size())),
      KOKKOS_LAMBDA(const Team &team) {
        const Part own = part[team.league_rank()];
        team_for(team, static_cast<int>(own.size),
                 [=](int k) DPTRAIN_ALWAYS_INLINE { step(own.begin + k); });
      });
#endif
}

template <class From, class T>
void gather_matrices(const MatrixPlaces &places, const From *values, T *work)
{
  for_matrices("dptrain::gather_matrices", places, Gather<From, T>{places, values, work});
}

template <class T> void scatter_matrices(const MatrixPlaces &places, const T *work, T *values)
{
  for_matrices("dptrain::scatter_matrices", places, Scatter<T>{places, work, values});
}

template <class T>
void adam_change(const AdamConstants<T> &constants, const AdamRates *rates,
                 const MatrixPlaces &places, T *work, T *mean, T *square)
{
  for_matrices("dptrain::adam_change", places,
               ChangeMatrices<T>{places, constants, rates, work, mean, square});
}

template <class T>
void subtract_change(const AdamRates *rates, const MatrixPlaces &places, const T *work,
                     double *parameters)
{
  for_matrices("dptrain::subtract_change", places,
               SubtractMatrices<T>{places, rates, work, parameters});
}

#define DPTRAIN_INSTANTIATE(T)                                                                 \
  template void adam_step(const AdamConstants<T> &, const AdamRates *, const Array<Part> &,    \
                          const double *, T *, T *, double *);                                 \
  template void gather_matrices(const MatrixPlaces &, const double *, T *);                    \
  template void scatter_matrices(const MatrixPlaces &, const T *, T *);                        \
  template void adam_change(const AdamConstants<T> &, const AdamRates *, const MatrixPlaces &, \
                            T *, T *, T *);                                                    \
  template void subtract_change(const AdamRates *, const MatrixPlaces &, const T *, double *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
template void gather_matrices(const MatrixPlaces &, const float *, float *);
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
