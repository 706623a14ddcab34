#include "kernels/adam.h"

#include "kernels/kokkos_types.h"
#include "kernels/workers.h"

namespace dptrain::kernels {

namespace {

constexpr long numbers_of_a_thread = 16384;  // less is not worth waking one

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

}  // namespace

template <class T>
void adam_step(const AdamConstants<T> &constants, const AdamRates *rates, long n,
               const double *gradient, T *mean, T *square, double *parameters)
{
  const auto step = [=, now = Rates{rates}](long begin, long numbers) {
    for_all_here("dptrain::adam_step", numbers,
                 AdamStep<T>{constants, now, gradient + begin, mean + begin, square + begin,
                             parameters + begin});
  };
  if (on_device) return step(0, n);
  for_blocks(n, numbers_of_a_thread, [&](std::size_t begin, std::size_t end) {
    step(static_cast<long>(begin), static_cast<long>(end - begin));
  });
}

template <class From, class To> void copy_numbers(long n, const From *from, To *to)
{
  for_all_here(
      "dptrain::copy_numbers", n,
      KOKKOS_LAMBDA(const long k) { to[k] = static_cast<To>(from[k]); });
}

template <class T>
void adam_change(const AdamConstants<T> &constants, const AdamRates *rates, long n, T *gradient,
                 T *mean, T *square)
{
  for_all_here("dptrain::adam_change", n,
               AdamChange<T>{constants, Rates{rates}, gradient, mean, square});
}

template <class T>
void subtract_change(const AdamRates *rates, long n, const T *change, double *parameters)
{
  for_all_here("dptrain::subtract_change", n, SubtractChange<T>{Rates{rates}, change, parameters});
}

#define DPTRAIN_INSTANTIATE(T)                                                                    \
  template void adam_step(const AdamConstants<T> &, const AdamRates *, long, const double *, T *, \
                          T *, double *);                                                         \
  template void copy_numbers(long, const double *, T *);                                          \
  template void adam_change(const AdamConstants<T> &, const AdamRates *, long, T *, T *, T *);    \
  template void subtract_change(const AdamRates *, long, const T *, double *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
template void copy_numbers(long, const float *, float *);
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
