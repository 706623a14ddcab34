// The communicator and guarded(), on as many ranks as there are.

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstring>
#include <new>
#include <numeric>

#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "support/scratch.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

}  // namespace

TEST(Communicator, SumsAreTheSameBitsOnAllRanks)
{
  const auto comm = world();
  std::vector<double> values(1000);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 1.0 / (1.0 + k + 3.7 * comm->rank());
  comm->all_reduce_sum(values.data(), values.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    double expected = 0.0;
    for (int r = 0; r < comm->size(); ++r) expected += 1.0 / (1.0 + k + 3.7 * r);
    EXPECT_NEAR(values[k], expected, 1e-15 * comm->size());  // rounding of the sum
  }
  std::vector<double> first = values;
  comm->broadcast(first.data(), first.size() * sizeof(double), 0);
  EXPECT_EQ(std::memcmp(first.data(), values.data(), values.size() * sizeof(double)), 0);
}

TEST(Communicator, MaximaAndIntegers)
{
  const auto comm = world();
  double d[2] = {-1.0 * comm->rank(), 2.0 * comm->rank()};
  comm->all_reduce_max(d, 2);
  EXPECT_EQ(d[0], 0.0);
  EXPECT_EQ(d[1], 2.0 * (comm->size() - 1));
  std::int64_t n[2] = {std::int64_t(1) << 60, comm->rank()};
  comm->all_reduce_max(n, 2);
  EXPECT_EQ(n[0], std::int64_t(1) << 60);
  EXPECT_EQ(n[1], comm->size() - 1);
  std::int64_t one = 1;
  comm->all_reduce_sum(&one, 1);
  EXPECT_EQ(one, comm->size());
  const auto ranks = comm->all_gather(comm->rank() * 10);
  for (int r = 0; r < comm->size(); ++r) EXPECT_EQ(ranks[r], 10 * r);
}

TEST(Communicator, AllToAllMovesEachPart)
{
  // rank s sends s + r + 1 numbers 100 s + r to rank r, and nothing from an even to an odd rank
  const auto comm = world();
  const int size = comm->size(), me = comm->rank();
  const auto count = [](int s, int r) { return s % 2 == 0 && r % 2 == 1 ? 0 : s + r + 1; };
  std::vector<int> send_counts(size), recv_counts(size);
  std::vector<double> send, expected;
  for (int r = 0; r < size; ++r) {
    send_counts[r] = count(me, r);
    recv_counts[r] = count(r, me);
    send.insert(send.end(), send_counts[r], 100.0 * me + r);
    expected.insert(expected.end(), recv_counts[r], 100.0 * r + me);
  }
  std::vector<double> received(expected.size());
  comm->all_to_all(send.data(), send_counts, received.data(), recv_counts);
  EXPECT_EQ(received, expected);
  const std::vector<std::int64_t> whole(send.begin(), send.end());
  std::vector<std::int64_t> whole_received(expected.size());
  comm->all_to_all(whole.data(), send_counts, whole_received.data(), recv_counts);
  EXPECT_EQ(whole_received, std::vector<std::int64_t>(expected.begin(), expected.end()));
}

TEST(Communicator, EachRankGetsTheSumsOfItsPart)
{
  // rank r has r + 2 numbers, the second one none; numbers whose sums are exact
  const auto comm = world();
  const int size = comm->size(), me = comm->rank();
  std::vector<std::size_t> parts;
  for (int r = 0; r < size; ++r) parts.push_back(r == 1 ? 0 : r + 2);
  const std::size_t n = std::accumulate(parts.begin(), parts.end(), std::size_t(0));
  const std::size_t begin = std::accumulate(parts.begin(), parts.begin() + me, std::size_t(0));
  std::vector<double> values(n);
  for (std::size_t k = 0; k < n; ++k) values[k] = 100.0 * k + me;
  comm->reduce_scatter_sum(values.data(), parts);
  for (std::size_t k = begin; k < begin + parts[me]; ++k)
    EXPECT_EQ(values[k], 100.0 * k * size + size * (size - 1) / 2);
}

TEST(Communicator, AllRanksGetAllParts)
{
  const auto comm = world();
  const int size = comm->size(), me = comm->rank();
  std::vector<std::size_t> parts;
  std::vector<double> expected;
  for (int r = 0; r < size; ++r) {
    parts.push_back(r == 1 ? 0 : 3 * r + 1);
    for (std::size_t k = 0; k < parts[r]; ++k) expected.push_back(r + 0.01 * k);
  }
  std::vector<double> values(expected.size(), -1.0);
  const std::size_t begin = std::accumulate(parts.begin(), parts.begin() + me, std::size_t(0));
  std::copy_n(expected.begin() + begin, parts[me], values.begin() + begin);
  comm->all_gather(values.data(), parts);
  EXPECT_EQ(values, expected);
}

// Long arrays that grow and shrink: the bits of sums in the order of the ranks.
TEST(Communicator, LongSumsAreTakenInTheOrderOfTheRanks)
{
  const auto comm = world();
  const int size = comm->size(), me = comm->rank();
  const auto value = [](int rank, std::size_t k) { return std::sin(1.0 + rank + 0.7 * k); };
  for (std::size_t length : {3000, 10000, 500}) {
    std::vector<std::size_t> parts;
    for (int r = 0; r < size; ++r) parts.push_back(r == 1 ? 0 : length + 7 * r);
    const std::size_t n = std::accumulate(parts.begin(), parts.end(), std::size_t(0));
    const std::size_t begin = std::accumulate(parts.begin(), parts.begin() + me, std::size_t(0));
    std::vector<double> a(n), sums(n, 0.0);
    for (std::size_t k = 0; k < n; ++k) {
      a[k] = value(me, k);
      for (int r = 0; r < size; ++r) sums[k] += value(r, k);
    }
    comm->reduce_scatter_sum(a.data(), parts);
    for (std::size_t k = begin; k < begin + parts[me]; ++k) ASSERT_EQ(a[k], sums[k]) << k;
    comm->all_gather(a.data(), parts);
    EXPECT_EQ(a, sums);
  }
}

TEST(Communicator, PartsMustBeAsManyAsRanks)
{
  const std::vector<std::size_t> wrong(world()->size() + 1, 1);
  std::vector<double> values(wrong.size());
  for (const auto &comm : {world(), make_mpi_communicator()}) {
    expect_in("reduce_scatter_sum", message_of([&] {
                comm->reduce_scatter_sum(values.data(), {1, 1, 1, 1, 1, 1, 1});
              }));
    expect_in("all_gather", message_of([&] { comm->all_gather(values.data(), wrong); }));
  }
}

TEST(Communicator, WithoutAnMpiCommunicatorARankIsAlone)
{
  const auto comm = make_mpi_communicator();
  EXPECT_EQ(comm->size(), 1);
  double value = 3.0, copy = 0.0;
  comm->all_reduce_sum(&value, 1);
  EXPECT_EQ(value, 3.0);
  comm->all_to_all(&value, {1}, &copy, {1});
  EXPECT_EQ(copy, 3.0);
}

TEST(Guarded, AllRanksThrowTheMessageOfTheLowestFailingRank)
{
  const auto comm = world();
  const int first = comm->size() / 2;
  EXPECT_EQ(message_of([&] {
              guarded(*comm, [&] {
                if (comm->rank() >= first) throw Error("rank " + std::to_string(comm->rank()));
              });
            }),
            "rank " + std::to_string(first));
  int done = 0;
  guarded(*comm, [&] { ++done; });  // the communicator still works
  EXPECT_EQ(done, 1);
}

TEST(Guarded, OtherExceptionsBecomeErrors)
{
  const auto comm = world();
  const int last = comm->size() - 1;
  expect_in("Out of memory on rank " + std::to_string(last), message_of([&] {
              guarded(*comm, [&] {
                if (comm->rank() == last) throw std::bad_alloc();
              });
            }));
  expect_in("Unknown exception", message_of([&] { guarded(*comm, [] { throw 1; }); }));
  EXPECT_EQ(message_of([&] { guarded(*comm, [] { throw std::runtime_error(""); }); }), "");
}

}  // namespace dptrain::test
