// The devices of this machine: each rank has its own, and nothing is started on the others.

#include <gtest/gtest.h>

#include "dptrain/device.h"
#include "dptrain/error.h"
#include "dptrain/threads.h"
#include "kernels/gpus.h"
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

}  // namespace dptrain::test
