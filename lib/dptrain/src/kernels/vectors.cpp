#include "kernels/vectors.h"

#include <numeric>
#include <vector>

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

void add_values(const double *values, long n, double *target)
{
  for_all(
      "dptrain::add_values", n, KOKKOS_LAMBDA(const long k) { target[k] += values[k]; });
}

void copy_words(const std::int64_t *values, long n, std::int64_t *target)
{
  for_all(
      "dptrain::copy_words", n, KOKKOS_LAMBDA(const long k) { target[k] = values[k]; });
}

void scale_values(double factor, long n, double *values)
{
  for_all(
      "dptrain::scale_values", n, KOKKOS_LAMBDA(const long k) { values[k] *= factor; });
}

void move_toward(const double *values, double fraction, long n, double *target)
{
  for_all(
      "dptrain::move_toward", n,
      KOKKOS_LAMBDA(const long k) { target[k] += fraction * (values[k] - target[k]); });
}

namespace {

// By all lanes of the team.
KOKKOS_FORCEINLINE_FUNCTION void set_sum_of_squares(const Team &team, const double *values, long n,
                                                    double *sum)
{
  const double found =
      team_sum<double>(team, static_cast<int>(n), [=](int k) { return values[k] * values[k]; });
  Kokkos::single(Kokkos::PerTeam(team), [&]() { *sum = found; });
}

}  // namespace

void sums_of_squares(const double *values, const Part *parts, int n, double *sums)
{
  launch(
      "dptrain::sums_of_squares", one_team_each(n), KOKKOS_LAMBDA(const Team &team) {
        const int k = team.league_rank();
        set_sum_of_squares(team, values + parts[k].begin, parts[k].size, sums + k);
      });
}

double sum_of_squares(const double *values, long n, Array<double> &parts)
{
  constexpr long block = on_device ? 4096 : 65536;
  const int number = static_cast<int>((n + block - 1) / block);
  double *part = parts.resize(number);
  launch(
      "dptrain::sum_of_squares", one_team_each(number), KOKKOS_LAMBDA(const Team &team) {
        const long begin = team.league_rank() * block;
        set_sum_of_squares(team, values + begin, n - begin < block ? n - begin : block,
                           part + team.league_rank());
      });
  const std::vector<double> host = parts.to_host();
  return std::accumulate(host.begin(), host.end(), 0.0);
}

}  // namespace dptrain::kernels
