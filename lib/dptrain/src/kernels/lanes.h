#pragma once

#include <cmath>
#include <cstring>

#include "kernels/kokkos_types.h"

// Several edges at once, for kernels whose sums do not fit what a compiler makes of a loop: on a host as many as a vector
// register holds, on a device one, as its threads are the lanes. Both have the operators of a number.

namespace dptrain::kernels {

#if DPTRAIN_VECTOR_LANES
#if defined(__AVX512F__)
constexpr int vector_bytes = 64, vector_registers = 32;
#elif defined(__AVX__)
constexpr int vector_bytes = 32, vector_registers = 16;
#elif defined(__aarch64__)
constexpr int vector_bytes = 16, vector_registers = 32;
#else
constexpr int vector_bytes = 16, vector_registers = 16;
#endif

namespace detail {

template <class Real, int bytes> struct Vector {
  typedef Real type __attribute__((vector_size(bytes)));
};

}  // namespace detail

template <class Real> constexpr int num_lanes = vector_bytes / sizeof(Real);
template <class Real> using Lanes = typename detail::Vector<Real, vector_bytes>::type;

template <class Real> inline Lanes<Real> load_lanes(const Real *from)
{
  Lanes<Real> v;
  std::memcpy(&v, from, sizeof v);  // not aligned
  return v;
}

/// The first n numbers, and `rest`.
template <class Real> inline Lanes<Real> load_lanes(const Real *from, int n, Real rest)
{
  Real all[num_lanes<Real>];
  for (int k = 0; k < num_lanes<Real>; ++k) all[k] = k < n ? from[k] : rest;
  return load_lanes(all);
}

/// Writes n numbers; there may be room for fewer than there are lanes.
template <class Real> inline void store_lanes(Lanes<Real> v, int n, Real *to)
{
  std::memcpy(to, &v, n * sizeof(Real));
}

template <class Real> inline Lanes<Real> sqrt_of(Lanes<Real> v)
{
  Lanes<Real> root;
  for (int k = 0; k < num_lanes<Real>; ++k) root[k] = std::sqrt(v[k]);
  return root;
}

namespace detail {

/// The sum of the first and the last half of the lanes, and so on down to `least` lanes.
template <class Real, int lanes, int least = 4>
inline auto fold(typename Vector<Real, lanes * sizeof(Real)>::type v)
{
  if constexpr (lanes == least) {
    return v;
  } else {
    typename Vector<Real, lanes / 2 * sizeof(Real)>::type low, high;
    std::memcpy(&low, &v, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char *>(&v) + sizeof low, sizeof high);
    return fold<Real, lanes / 2, least>(low + high);
  }
}

}  // namespace detail

/// Whether any lane is below a number.
template <class Real> inline bool any_below(Lanes<Real> v, Real number)
{
  const auto below = v < number;
  auto any = below[0];
  for (int k = 1; k < num_lanes<Real>; ++k) any |= below[k];
  return any != 0;
}

/// The sum of all lanes.
template <class Real> inline Real sum_of_lanes(Lanes<Real> v)
{
  const auto two = detail::fold<Real, num_lanes<Real>, 2>(v);
  return two[0] + two[1];
}

namespace detail {

/// Sums of neighboring groups of `group` lanes of a and b, those of a and of b in turn.
template <int group, class L, int... k>
inline L paired_sums(L a, L b, std::integer_sequence<int, k...>)
{
  constexpr int lanes = sizeof...(k);
  // lane k is in a block of two groups, the first of a, the second of b
  return __builtin_shufflevector(
             a, b, (k / (2 * group) * 2 * group + k % group + k / group % 2 * lanes)...) +
         __builtin_shufflevector(
             a, b, (k / (2 * group) * 2 * group + k % group + k / group % 2 * lanes + group)...);
}

}  // namespace detail

/// to[k] = the sum of all lanes of the k-th vector, or added to what is there.
template <class Real>
inline void store_sums(Lanes<Real> a, Lanes<Real> b, Lanes<Real> c, Lanes<Real> d, bool add,
                       Real *to)
{
  constexpr int lanes = num_lanes<Real>;
  if constexpr (lanes >= 4) {
    constexpr auto all = std::make_integer_sequence<int, lanes>();
    const Lanes<Real> ab = detail::paired_sums<1>(a, b, all),
                      cd = detail::paired_sums<1>(c, d, all);
    auto sums = detail::fold<Real, lanes>(detail::paired_sums<2>(ab, cd, all));
    if (add) {
      decltype(sums) before;
      std::memcpy(&before, to, sizeof before);
      sums += before;
    }
    std::memcpy(to, &sums, sizeof sums);
  } else {
    const Lanes<Real> all[4] = {a, b, c, d};
    for (int k = 0; k < 4; ++k) to[k] = (add ? to[k] : Real(0)) + sum_of_lanes<Real>(all[k]);
  }
}

namespace detail {

/// Lanes of the first or the second half of a and b in turn.
template <int half, class L, int... k>
inline L interleaved(L a, L b, std::integer_sequence<int, k...>)
{
  constexpr int lanes = sizeof...(k);
  return __builtin_shufflevector(a, b, ((k % 2) * lanes + half * lanes / 2 + k / 2)...);
}

}  // namespace detail

/// The transpose of a square of numbers. Each round turns the bits of (row, lane) by one; after as many as a row has, both have
/// changed places.
template <class Real> inline void transpose_lanes(Lanes<Real> (&rows)[num_lanes<Real>])
{
  constexpr int lanes = num_lanes<Real>;
  constexpr auto all = std::make_integer_sequence<int, lanes>();
  for (int round = 1; round < lanes; round *= 2) {
    Lanes<Real> before[lanes];
    std::memcpy(before, rows, sizeof before);
    for (int k = 0; k < lanes / 2; ++k) {
      rows[2 * k] = detail::interleaved<0>(before[k], before[k + lanes / 2], all);
      rows[2 * k + 1] = detail::interleaved<1>(before[k], before[k + lanes / 2], all);
    }
  }
}

/// to [columns][rows] = the transpose of from [rows][columns]; strides are from one row to the next.
template <class Real>
inline void transpose_matrix(int rows, int columns, const Real *from, long from_stride, Real *to,
                             long to_stride)
{
  constexpr int lanes = num_lanes<Real>;
  for (int i = 0; i < rows; i += lanes)
    for (int j = 0; j < columns; j += lanes) {
      if (i + lanes <= rows && j + lanes <= columns) {
        Lanes<Real> block[lanes];
        for (int k = 0; k < lanes; ++k) block[k] = load_lanes(from + (i + k) * from_stride + j);
        transpose_lanes<Real>(block);
        for (int k = 0; k < lanes; ++k)
          store_lanes<Real>(block[k], lanes, to + (j + k) * to_stride + i);
      } else {
        for (int k = i; k < i + lanes && k < rows; ++k)
          for (int l = j; l < j + lanes && l < columns; ++l)
            to[l * to_stride + k] = from[k * from_stride + l];
      }
    }
}

#else

template <class Real> constexpr int num_lanes = 1;
template <class Real> using Lanes = Real;

template <class Real> KOKKOS_FORCEINLINE_FUNCTION Real load_lanes(const Real *from)
{
  return *from;
}
template <class Real> KOKKOS_FORCEINLINE_FUNCTION Real load_lanes(const Real *from, int, Real)
{
  return *from;
}
template <class Real> KOKKOS_FORCEINLINE_FUNCTION void store_lanes(Real v, int, Real *to)
{
  *to = v;
}
template <class Real> KOKKOS_FORCEINLINE_FUNCTION Real sqrt_of(Real v)
{
  return std::sqrt(v);
}
template <class Real> KOKKOS_FORCEINLINE_FUNCTION bool any_below(Real v, Real number)
{
  return v < number;
}
#endif

/// f(number) for the numbers below n: on a device by all lanes of a team, complete when it returns.
template <class F> KOKKOS_FORCEINLINE_FUNCTION void for_lanes(const Team &team, int n, const F &f)
{
#if !DPTRAIN_VECTOR_LANES
  team_for(team, n, f);
#else
  (void) team;
  for (int k = 0; k < n; ++k) f(k);
#endif
}

}  // namespace dptrain::kernels
