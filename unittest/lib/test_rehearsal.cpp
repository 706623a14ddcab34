// The rehearsed device finds faults that a GPU would have: each is planted here in a kernel of a few lines.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "dptrain/base/error.h"
#include "kernels/kokkos_types.h"
#include "kernels/memory.h"
#include "rehearsal/device_memory.h"

#if defined(__SANITIZE_THREAD__)
extern "C" const char *__tsan_default_options()
{
  return "halt_on_error=1:exitcode=66";
}
constexpr bool has_thread_sanitizer = true;
#else
constexpr bool has_thread_sanitizer = false;
#endif

namespace dptrain::test {
namespace {

using kernels::Array;
using kernels::launch;
using kernels::one_team_each;
using kernels::RangePolicy;
using kernels::Team;

int lanes_of_team()
{
  return rehearsal::team_shape().size();
}

// What `work` throws.
template <class Work> std::string message(const Work &work)
{
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  return "nothing was thrown";
}

void expect_in(const std::string &part, const std::string &text)
{
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// target[i] = i + 1
void write_numbers(int n, double *target)
{
  launch(
      "test::write_numbers", RangePolicy(0, n), KOKKOS_LAMBDA(int i) { target[i] = i + 1.0; });
}

TEST(RehearsalMemory, HostCannotReadIt)
{
  Array<double> numbers;
  numbers.copy_from({1.0, 2.0, 3.0});
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile double *>(numbers.data() + 1)),
               "the host reads or writes device memory: byte 8 of a block of 24 bytes");
  EXPECT_DEATH(numbers.data()[2] = 0.0, "byte 16 of a block of 24 bytes");
  EXPECT_EQ(numbers.to_host(), (std::vector<double>{1.0, 2.0, 3.0}));
}

TEST(RehearsalMemory, BeginsWithNan)
{
  Array<double> numbers;
  numbers.resize(5);
  for (const double number : numbers.to_host()) EXPECT_TRUE(std::isnan(number));
}

TEST(RehearsalMemory, CopiesStayInTheirBlock)
{
  Array<double> numbers;
  numbers.copy_from({1.0, 2.0, 3.0});
  std::vector<double> host(4);
  const auto copy = [&](std::size_t first, std::size_t n) {
    return message(
        [&] { kernels::copy_out(host.data(), numbers.data() + first, n * sizeof(double)); });
  };
  EXPECT_EQ(copy(1, 2), "nothing was thrown");
  EXPECT_EQ(host[1], 3.0);
  expect_in("a copy of 24 bytes leaves the block", copy(1, 3));
  expect_in("a copy of 24 bytes leaves the block", message([&] {
              kernels::copy_in(numbers.data() + 1, host.data(), 3 * sizeof(double));
            }));
}

TEST(RehearsalMemory, FreedMemoryIsNotGivenAgainSoon)
{
  Array<double> first, second;
  const double *place = first.resize(100);
  first.clear();
  EXPECT_NE(second.resize(100), place);
  EXPECT_EQ(rehearsal::place_of(reinterpret_cast<std::uintptr_t>(place)), rehearsal::Place::freed);
}

TEST(RehearsalCaptures, PointersIntoHostMemoryAreNamed)
{
  Array<double> target;
  double *to = target.resize(4);
  const auto copy = [=](const double *from) {
    return message([=] {
      launch(
          "test::copy", RangePolicy(0, 4), KOKKOS_LAMBDA(int i) { to[i] = from[i]; });
    });
  };
  double on_stack[4] = {};
  static double global[4] = {};
  const std::vector<double> on_heap(4);
  expect_in("test::copy: byte 8 of the 16 bytes", copy(on_stack));
  expect_in("memory of the host (the stack)", copy(on_stack));
  expect_in("memory of the host (the heap)", copy(on_heap.data()));
  expect_in("memory of the host (", copy(global));
  Array<double> source;
  source.copy_from(std::vector<double>(4, 7.0));
  EXPECT_EQ(copy(source.data()), "nothing was thrown");
  EXPECT_EQ(target.to_host(), std::vector<double>(4, 7.0));
}

TEST(RehearsalCaptures, PointersIntoFreedMemoryAreNamed)
{
  Array<double> target;
  double *to = target.resize(4);
  target.clear();
  expect_in("test::write_numbers", message([=] { write_numbers(4, to); }));
  expect_in("freed device memory", message([=] { write_numbers(4, to); }));
}

TEST(RehearsalCaptures, ArraysOfPointersAreFollowed)
{
  const int host = 0;
  Array<const int *> pointers;
  expect_in("an array of pointers: byte 0 of the 8 bytes",
            message([&] { pointers.copy_from(std::vector<const int *>{&host}); }));
}

// What a library finds that does not work in the stream of the kernels.
TEST(RehearsalStream, ResultsThatNobodyWaitedForAreNotThere)
{
  Array<double> numbers;
  const double *place = numbers.resize(3);
  write_numbers(3, numbers.data());
  {
    const rehearsal::Access access;
    EXPECT_NE(*place, 1.0);
  }
  EXPECT_EQ(numbers.to_host(), (std::vector<double>{1.0, 2.0, 3.0}));
  const rehearsal::Access access;
  EXPECT_EQ(*place, 1.0);
}

TEST(RehearsalStream, HostMemoryMayChangeAfterACopy)
{
  std::vector<double> host{1.0, 2.0};
  Array<double> numbers;
  numbers.copy_from(host);
  host.assign(2, 0.0);
  EXPECT_EQ(numbers.to_host(), (std::vector<double>{1.0, 2.0}));
}

// Each lane takes what its neighbor has put into scratch memory; the sum of all.
double sum_of_neighbors(bool with_barrier)
{
  const int lanes = lanes_of_team(), teams = 6;
  const std::size_t bytes = lanes * sizeof(double) + 64;
  Array<double> sums;
  sums.resize_clear(1);
  double *sum = sums.data();
  launch(
      "test::neighbors", one_team_each(teams, bytes), KOKKOS_LAMBDA(const Team &team) {
        auto *shared = reinterpret_cast<double *>(kernels::team_scratch(team, bytes));
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, lanes), [&](int k) { shared[k] = k; });
        if (with_barrier) team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, lanes),
                             [&](int k) { kernels::add_shared(sum, shared[(k + 1) % lanes]); });
      });
  return sums.to_host().front();
}

TEST(RehearsalLanes, MissingBarrierIsFound)
{
  const int lanes = lanes_of_team();
  EXPECT_EQ(sum_of_neighbors(true), 6 * lanes * (lanes - 1) / 2);
  if (has_thread_sanitizer)
    EXPECT_EXIT(sum_of_neighbors(false), testing::ExitedWithCode(66), "data race");
  else
    EXPECT_TRUE(std::isnan(sum_of_neighbors(false)));
}

// All teams add to one place.
double sum_of_teams(bool atomic)
{
  Array<double> sums;
  sums.resize_clear(1);
  double *sum = sums.data();
  launch(
      "test::teams", one_team_each(20), KOKKOS_LAMBDA(const Team &team) {
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          if (atomic)
            kernels::add_shared(sum, 1.0);
          else
            *sum += 1.0;
        });
      });
  return sums.to_host().front();
}

TEST(RehearsalLanes, SumWithoutAtomicsIsFound)
{
  EXPECT_EQ(sum_of_teams(true), 20.0);
  if (!has_thread_sanitizer)
    GTEST_SKIP() << "the thread sanitizer finds it: preset rehearsal-threads";
  EXPECT_EXIT(sum_of_teams(false), testing::ExitedWithCode(66), "data race");
}

TEST(RehearsalLanes, BarrierOfSomeLanesIsFound)
{
  const std::string text = message([] {
    launch(
        "test::some", one_team_each(3), KOKKOS_LAMBDA(const Team &team) {
          if (team.team_rank() == 0) team.team_barrier();
        });
    Array<double> any;
    any.copy_from({1.0});
    any.to_host();
  });
  if (rehearsal::team_shape().threads == 1) GTEST_SKIP() << "teams of one thread";
  expect_in("test::some: some lanes of a team are at ", text);
  EXPECT_EQ(sum_of_teams(true), 20.0);  // the next kernel runs
}

TEST(RehearsalLanes, PatternsGiveWhatKokkosSays)
{
  const int n = 37, teams = 3;
  Array<int> sums, ranks, singles;
  int *sum = sums.resize_clear(teams * 3), *rank = ranks.resize_clear(teams * n),
      *single = singles.resize_clear(teams);
  launch(
      "test::patterns", one_team_each(teams), KOKKOS_LAMBDA(const Team &team) {
        const int t = team.league_rank();
        int all = 0, own = 0, scanned = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n), [&](int k, int &part) { part += k + t; }, all);
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, n), [&](int k, int &part) { part += k; }, own);
        if (team.team_rank() == 0)
          Kokkos::parallel_scan(
              Kokkos::ThreadVectorRange(team, n),
              [&](int k, int &place, bool last) {
                if (last) rank[t * n + k] = place;
                place += k % 3;
              },
              scanned);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          sum[3 * t] = all;
          sum[3 * t + 1] = own;
          sum[3 * t + 2] = scanned;
          kernels::add_shared(single + t, 1);
        });
      });
  const std::vector<int> found = sums.to_host(), places = ranks.to_host();
  for (int t = 0; t < teams; ++t) {
    EXPECT_EQ(found[3 * t], n * (n - 1) / 2 + n * t);
    EXPECT_EQ(found[3 * t + 1], n * (n - 1) / 2);
    int place = 0;
    for (int k = 0; k < n; place += k % 3, ++k) EXPECT_EQ(places[t * n + k], place);
    EXPECT_EQ(found[3 * t + 2], place);
  }
  EXPECT_EQ(singles.to_host(), std::vector<int>(teams, 1));
}

TEST(RehearsalLanes, SmallestValueOfATeam)
{
  Array<double> found;
  double *least = found.resize(1);
  launch(
      "test::least", one_team_each(1), KOKKOS_LAMBDA(const Team &team) {
        double value = HUGE_VAL;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, 50),
            [&](int k, double &part) {
              const double here = (k - 31) * (k - 31);
              part = here < part ? here : part;
            },
            Kokkos::Min<double>(value));
        Kokkos::single(Kokkos::PerTeam(team), [&]() { *least = value + 2.0; });
      });
  EXPECT_EQ(found.to_host().front(), 2.0);
}

TEST(RehearsalLanes, WhatNoGpuHasIsRefused)
{
  const auto with_scratch = [](std::size_t bytes) {
    return message(
        [=] { launch("test::scratch", one_team_each(1, bytes), KOKKOS_LAMBDA(const Team &){}); });
  };
  EXPECT_EQ(with_scratch(30000), "nothing was thrown");
  EXPECT_EQ(with_scratch(1 << 20), "nothing was thrown");  // second level
  expect_in("test::scratch: 33554432 bytes of scratch memory of level 1", with_scratch(32 << 20));
  expect_in("test::range: indices from 0 to -1",
            message([] { launch("test::range", RangePolicy(0, -1), KOKKOS_LAMBDA(int){}); }));
  expect_in("an int has overflowed", message([] {
              launch("test::league", one_team_each(std::numeric_limits<int>::min()),
                     KOKKOS_LAMBDA(const Team &){});
            }));
}

}  // namespace
}  // namespace dptrain::test
