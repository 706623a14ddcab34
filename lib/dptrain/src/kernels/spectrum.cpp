#include "kernels/spectrum.h"

#include "kernels/harmonics.h"
#include "kernels/kokkos_types.h"
#include "kernels/lanes.h"

namespace dptrain::kernels {

namespace {

/// f(Width<W>()) for the usual number of channels, or for one that only the run knows.
template <class F> void with_channels(int channels, const F &f)
{
  if (channels == 16 && !on_device) return f(Width<16>());
  f(Width<0>{channels});
}

// d_lqn (+)= sum_m x_lmq y_lmn; the first block of d, the coefficients of l = 0, is not touched
template <bool add, int W, class Real>
KOKKOS_FORCEINLINE_FUNCTION void products(const Team &team, const SpectrumShape &s, Width<W> width,
                                          const Real *x, const Real *y, Real *d)
{
#if !DPTRAIN_VECTOR_LANES
  team_for(team, (s.l_max + 1) * s.axis * width, [=](int k) {
    const int n = k % width, q = k / width % s.axis, l = k / (width * s.axis);
    Real sum = add ? d[width + k] : Real(0);
    for (int lm = l * l; lm < (l + 1) * (l + 1); ++lm) sum += x[lm * width + q] * y[lm * width + n];
    d[width + k] = sum;
  });
#else
  (void) team;
  for (int l = 0; l <= s.l_max; ++l)
    for (int q = 0; q < s.axis; ++q) {
      Real *target = d + width * (1 + l * s.axis + q);
      if constexpr (W > 0) {
        constexpr int lanes = num_lanes<Real>, vectors = W / lanes;
        Lanes<Real> sum[vectors] = {};
        for (int lm = l * l; lm < (l + 1) * (l + 1); ++lm)
          for (int v = 0; v < vectors; ++v)
            sum[v] += x[lm * W + q] * load_lanes(y + lm * W + v * lanes);
        for (int v = 0; v < vectors; ++v) {
          if (add) sum[v] += load_lanes(target + v * lanes);
          store_lanes<Real>(sum[v], lanes, target + v * lanes);
        }
      } else {
        for (int n = 0; n < width; ++n) {
          Real sum = add ? target[n] : Real(0);
          for (int lm = l * l; lm < (l + 1) * (l + 1); ++lm)
            sum += x[lm * width + q] * y[lm * width + n];
          target[n] = sum;
        }
      }
    }
#endif
}

#if DPTRAIN_VECTOR_LANES
// What four axis channels, from q on, add to a row of the transpose.
template <bool subtract, int W, class Real>
inline void transpose_four(const Real *block, const Real *row, int q, Real *target)
{
  using L = Lanes<Real>;
  constexpr int lanes = num_lanes<Real>, vectors = W / lanes;
  L dots[4] = {};
  for (int v = 0; v < vectors; ++v) {
    const L r = load_lanes(row + v * lanes);
    L sum = load_lanes(target + v * lanes);
    for (int k = 0; k < 4; ++k) {
      const L b = load_lanes(block + k * W + v * lanes);
      sum += (subtract ? -row[q + k] : row[q + k]) * b;
      dots[k] += (subtract ? -r : r) * b;
    }
    store_lanes<Real>(sum, lanes, target + v * lanes);
  }
  store_sums<Real>(dots[0], dots[1], dots[2], dots[3], true, target + q);
}
#endif

// The transpose for x = y: g_lmn (+ or -)= sum_q d_lqn y_lmq, and for the axis channels sum_n d_lqn y_lmn too
template <bool subtract, int W, class Real>
KOKKOS_FORCEINLINE_FUNCTION void transpose(const Team &team, const SpectrumShape &s, Width<W> width,
                                           const Real *d, const Real *y, Real *g)
{
  constexpr Real sign = subtract ? -1 : 1;
#if !DPTRAIN_VECTOR_LANES
  team_for(team, num_harmonics(s.l_max) * width, [=](int k) {
    const int n = k % width, lm = k / width;
    int l = 0;
    while ((l + 1) * (l + 1) <= lm) ++l;
    const Real *block = d + width * (1 + l * s.axis), *row = y + lm * width;
    Real sum = 0;
    for (int q = 0; q < s.axis; ++q) sum += block[q * width + n] * row[q];
    if (n < s.axis)
      for (int other = 0; other < width; ++other) sum += block[n * width + other] * row[other];
    g[k] += sign * sum;
  });
#else
  (void) team;
  for (int l = 0; l <= s.l_max; ++l)
    for (int lm = l * l; lm < (l + 1) * (l + 1); ++lm) {
      const Real *row = y + lm * width;
      Real *target = g + lm * width;
      int q = 0;
      if constexpr (W > 0)
        for (; q + 4 <= s.axis; q += 4)
          transpose_four<subtract, W>(d + W * (1 + l * s.axis + q), row, q, target);
      for (; q < s.axis; ++q) {
        const Real *block = d + width * (1 + l * s.axis + q);
        const Real factor = sign * row[q];
        Real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (int n = 0; n < width; ++n)
        {
          target[n] += factor * block[n];
          sum += block[n] * row[n];
        }
        target[q] += sign * sum;
      }
    }
#endif
}

// The derivative by the coefficients of l = 0 themselves; zero elsewhere.
template <int W, class Real>
KOKKOS_FORCEINLINE_FUNCTION void begin_transpose(const Team &team, const SpectrumShape &s,
                                                 Width<W> width, const Real *d, Real *g)
{
  team_for(team, num_harmonics(s.l_max) * width,
           [=](int k) DPTRAIN_ALWAYS_INLINE { g[k] = k < width ? d[k] : Real(0); });
}

// Memory of a team for the coefficients of so many centers.
template <class Real> std::size_t scratch_bytes(const SpectrumShape &s, int number)
{
  return static_cast<std::size_t>(number) * num_harmonics(s.l_max) * s.channels * sizeof(Real) + 64;
}

// The coefficients of a center as [harmonics][channels].
template <int W, class Real>
KOKKOS_FORCEINLINE_FUNCTION void load(const Team &team, const SpectrumShape &s, Width<W> width,
                                      const Real *a, Real *own)
{
  const int rows = num_harmonics(s.l_max);
  const long stride = static_cast<long>(s.centers) * rows;
  const Real *from = a + static_cast<long>(team.league_rank()) * rows;
#if !DPTRAIN_VECTOR_LANES
  team_for(team, rows * width,
           [=](int k) { own[k % rows * width + k / rows] = from[k / rows * stride + k % rows]; });
#else
  (void) team;
  transpose_matrix<Real>(width, rows, from, stride, own, width);
#endif
}

template <int W, class Real>
KOKKOS_FORCEINLINE_FUNCTION void store(const Team &team, const SpectrumShape &s, Width<W> width,
                                       const Real *own, Real *a)
{
  const int rows = num_harmonics(s.l_max);
  const long stride = static_cast<long>(s.centers) * rows;
  Real *to = a + static_cast<long>(team.league_rank()) * rows;
#if !DPTRAIN_VECTOR_LANES
  team_for(team, rows * width,
           [=](int k) { to[k / rows * stride + k % rows] = own[k % rows * width + k / rows]; });
#else
  (void) team;
  transpose_matrix<Real>(rows, width, own, width, to, stride);
#endif
}

// Nested lambdas cannot be kernels of a GPU: those of a width are functions.

template <int W, class Real>
void spectrum_value_kernel(const SpectrumShape &s, Width<W> width, const Real *a, Real *d)
{
  const std::size_t bytes = scratch_bytes<Real>(s, 1);
  const long size = s.size();
  launch(
      "dptrain::spectrum_value", one_team_each(s.centers, bytes), KOKKOS_LAMBDA(const Team &team) {
        Real *own = reinterpret_cast<Real *>(team_scratch(team, bytes));
        Real *target = d + team.league_rank() * size;
        load(team, s, width, a, own);
        team_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] = own[m]; });
        products<false>(team, s, width, own, own, target);
      });
}

template <int W, class Real>
void spectrum_jvp_kernel(const SpectrumShape &s, Width<W> width, const Real *a, const Real *a_dot,
                         Real *d_dot)
{
  const std::size_t bytes = scratch_bytes<Real>(s, 2);
  const long size = s.size(), coefficients = num_harmonics(s.l_max) * width;
  launch(
      "dptrain::spectrum_jvp", one_team_each(s.centers, bytes), KOKKOS_LAMBDA(const Team &team) {
        Real *own = reinterpret_cast<Real *>(team_scratch(team, bytes)),
             *tangent = own + coefficients;
        Real *target = d_dot + team.league_rank() * size;
        load(team, s, width, a, own);
        load(team, s, width, a_dot, tangent);
        team_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] = tangent[m]; });
        products<false>(team, s, width, tangent, own, target);
        products<true>(team, s, width, own, tangent, target);
      });
}

template <int W, class Real>
void spectrum_reverse_kernel(const SpectrumShape &s, Width<W> width, const Real *a, const Real *g_d,
                             Real *g_a)
{
  const std::size_t bytes = scratch_bytes<Real>(s, 2);
  const long size = s.size(), coefficients = num_harmonics(s.l_max) * width;
  launch(
      "dptrain::spectrum_reverse", one_team_each(s.centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        Real *own = reinterpret_cast<Real *>(team_scratch(team, bytes)), *g = own + coefficients;
        const Real *from = g_d + team.league_rank() * size;
        load(team, s, width, a, own);
        begin_transpose(team, s, width, from, g);
        transpose<false>(team, s, width, from, own, g);
        store(team, s, width, g, g_a);
      });
}

template <int W, class Real>
void spectrum_jvp_reverse_kernel(const SpectrumShape &s, Width<W> width, const Real *a,
                                 const Real *a_dot, const Real *s_d, const Real *e_d, Real *s_a)
{
  const std::size_t bytes = scratch_bytes<Real>(s, 3);
  const long size = s.size(), coefficients = num_harmonics(s.l_max) * width;
  launch(
      "dptrain::spectrum_jvp_reverse", one_team_each(s.centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        Real *own = reinterpret_cast<Real *>(team_scratch(team, bytes)),
             *tangent = own + coefficients, *g = tangent + coefficients;
        const long i = team.league_rank();
        load(team, s, width, a, own);
        load(team, s, width, a_dot, tangent);
        begin_transpose(team, s, width, s_d + i * size, g);
        transpose<false>(team, s, width, s_d + i * size, own, g);
        transpose<true>(team, s, width, e_d + i * size, tangent, g);
        store(team, s, width, g, s_a);
      });
}

}  // namespace

template <class Real> void spectrum_value(const SpectrumShape &s, const Real *a, Real *d)
{
  with_channels(s.channels, [&](auto width) { spectrum_value_kernel(s, width, a, d); });
}

template <class Real>
void spectrum_jvp(const SpectrumShape &s, const Real *a, const Real *a_dot, Real *d_dot)
{
  with_channels(s.channels, [&](auto width) { spectrum_jvp_kernel(s, width, a, a_dot, d_dot); });
}

template <class Real>
void spectrum_reverse(const SpectrumShape &s, const Real *a, const Real *g_d, Real *g_a)
{
  with_channels(s.channels, [&](auto width) { spectrum_reverse_kernel(s, width, a, g_d, g_a); });
}

template <class Real>
void spectrum_jvp_reverse(const SpectrumShape &s, const Real *a, const Real *a_dot, const Real *s_d,
                          const Real *e_d, Real *s_a)
{
  with_channels(s.channels, [&](auto width) {
    spectrum_jvp_reverse_kernel(s, width, a, a_dot, s_d, e_d, s_a);
  });
}

#define DPTRAIN_INSTANTIATE(Real)                                                            \
  template void spectrum_value(const SpectrumShape &, const Real *, Real *);                 \
  template void spectrum_jvp(const SpectrumShape &, const Real *, const Real *, Real *);     \
  template void spectrum_reverse(const SpectrumShape &, const Real *, const Real *, Real *); \
  template void spectrum_jvp_reverse(const SpectrumShape &, const Real *, const Real *,      \
                                     const Real *, const Real *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
