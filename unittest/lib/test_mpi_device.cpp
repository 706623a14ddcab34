// The devices of this machine: each rank has its own, and nothing is started on the others.

#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/base/error.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/parallel/device.h"
#include "dptrain/potential/native/deep_pot.h"
#include "kernels/gpus.h"
#include "parallel/nccl_communicator.h"
#include "support/tiny_model.h"
#include "support/world.h"

namespace dptrain::test {

TEST(Devices, EachRankHasAContextOnItsOwnAlone)
{
  const auto comm = world();
  const MPI_Comm all = MPI_COMM_WORLD;
  const int local = rank_on_node(&all);
  EXPECT_GE(local, 0);
  EXPECT_LT(local, comm->size());
  const DeviceReport report = bind_devices(*comm, DeviceRequest(), local);
  EXPECT_NE(report.text.find(std::to_string(comm->size()) + " rank"), std::string::npos);
  const Cluster cluster(20, 2, 7.0);
  const auto model = make_deep_pot(tiny_model(tiny_config()));
  evaluate(*model, cluster.domain());
  if (!runs_on_gpu()) {
    EXPECT_EQ(kernels::bound_gpu(), -1);
    EXPECT_THROW(bind_devices(*comm, read_device("cuda:0"), local), Error);
    return;
  }
  EXPECT_EQ(kernels::gpus_with_context(), std::vector<int>{local % kernels::visible_gpus()});
  EXPECT_THROW(bind_devices(*comm, read_device("cpu"), local), Error);
}

TEST(Devices, SumsBetweenGpusAreThoseOfMpi)
{
  const auto comm = world();
  const MPI_Comm all = MPI_COMM_WORLD;
  bind_devices(*comm, DeviceRequest(), rank_on_node(&all));
  const auto nccl = over_nccl(comm);
  if (nccl == comm)
    GTEST_SKIP() << "no NCCL in this build, one rank, or ranks without a GPU of their own";
  const std::size_t n = 20011;
  std::vector<std::size_t> parts(comm->size(), n / comm->size());
  parts.back() += n % comm->size();
  std::vector<double> mine(n);
  for (std::size_t k = 0; k < n; ++k) mine[k] = std::sin(1.0 + double(k) + 0.1 * comm->rank());
  const auto compare = [&](const char *what, const auto &exchange, std::size_t begin,
                           std::size_t end) {
    std::vector<double> found = mine, expected = mine;
    exchange(*nccl, found);
    exchange(*comm, expected);
    // sums of numbers up to 1 in another order
    for (std::size_t k = begin; k < end; ++k) ASSERT_NEAR(found[k], expected[k], 1e-14) << what;
  };
  const std::size_t first = comm->rank() * parts[0], last = first + parts[comm->rank()];
  compare(
      "all_reduce", [&](const Communicator &c, auto &v) { c.all_reduce_sum(v.data(), n); }, 0, n);
  compare(
      "reduce_scatter",
      [&](const Communicator &c, auto &v) { c.reduce_scatter_sum(v.data(), parts); }, first, last);
  compare(
      "all_gather", [&](const Communicator &c, auto &v) { c.all_gather(v.data(), parts); }, 0, n);
}

}  // namespace dptrain::test
