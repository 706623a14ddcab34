// Workers and threads: sums in several copies, equal bits, and how many threads a rank takes.
#include "dptrain/kernels/threads.h"

#include <ATen/Parallel.h>
#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/asked_threads.h"
#include "base/torch_threads.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "kernels/memory.h"
#include "kernels/workers.h"
#include "parallel/thread_share.h"
#include "potential/native/deep_pot.h"
#include "support/both_passes.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

#ifdef KOKKOS_ENABLE_OPENMP
constexpr bool has_threads = true;
#else
constexpr bool has_threads = false;
#endif

struct Numbers {
  std::vector<double> force, atom_virial, gradient;
  std::array<double, 9> virial{};
  double energy = 0.0;
  bool operator==(const Numbers &o) const
  {
    return force == o.force && atom_virial == o.atom_virial && gradient == o.gradient &&
           virial == o.virial && energy == o.energy;
  }
};

// Energy, forces, virials and the gradient of a weighted sum of them, with this many workers and LibTorch threads.
Numbers with_threads(int threads, const ModelConfig &config, Precision precision)
{
  kernels::set_workers(threads);
  set_torch_threads(has_threads ? threads : 1);
  DeepPot model(tiny_model(config));
  model.set_precision(precision);
  model.set_chunk(7);
  const Cluster cluster(40, config.ntypes(), 8.0);
  Numbers n;
  const Result r = evaluate(model, cluster.domain());
  n.force = r.force;
  n.atom_virial = r.atom_virial;
  n.virial = r.virial;
  n.energy = r.energy;
  std::vector<double> weights(n.force.size());
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = std::sin(1.0 + k);
  GradientSeed seed;
  seed.energy = 0.7;
  seed.force = weights.data();
  seed.virial = {0.1, -0.2, 0.3, 0.0, 0.2, -0.1, 0.4, 0.1, -0.3};
  const Domain domain = cluster.domain();
  n.gradient = gradient_of(model, &domain, 1, &seed);
  kernels::set_workers(0);
  return n;
}

void expect_close(const std::vector<double> &a, const std::vector<double> &b, double tolerance,
                  const char *what)
{
  ASSERT_EQ(a.size(), b.size());
  double most = 0.0;
  for (double x : b) most = std::max(most, std::abs(x));
  ASSERT_GT(most, 0.0) << what;
  for (std::size_t k = 0; k < a.size(); ++k)
    EXPECT_NEAR(a[k], b[k], tolerance * most) << what << " at " << k;
}

class Threads : public testing::Test {
 protected:
  static void SetUpTestSuite()
  {
    started_ = use_threads(2);
    torch_threads_ = at::get_num_threads();
  }
  static inline int started_ = 0, torch_threads_ = 0;  // after the first call

  // Sums of some hundred terms in another order: rounding only.
  static void check(const ModelConfig &config, Precision precision, double tolerance)
  {
    if (kernels::separate_memory()) GTEST_SKIP() << "a device has no workers";
    const Numbers one = with_threads(1, config, precision);
    for (int threads : {2, 3}) {
      const Numbers several = with_threads(threads, config, precision);
      expect_close(several.force, one.force, tolerance, "force");
      expect_close(several.atom_virial, one.atom_virial, tolerance, "atom virial");
      expect_close(several.gradient, one.gradient, tolerance, "gradient");
      expect_close({several.virial.begin(), several.virial.end()},
                   {one.virial.begin(), one.virial.end()}, tolerance, "virial");
      EXPECT_NEAR(several.energy, one.energy, tolerance * std::abs(one.energy));
      EXPECT_TRUE(with_threads(threads, config, precision) == several) << "not the same bits";
    }
  }
};

TEST_F(Threads, WorkersChangeRoundingOnlyAndAreReproducible)
{
  if (!has_threads) std::puts("[   NOTE   ] Kokkos has no OpenMP here: workers run in turn");
  check(tiny_config(), Precision::float64, 1e-12);
  check(tiny_config(), Precision::single, 1e-5);
}

TEST_F(Threads, TheSameWithoutATable)
{
  ModelConfig config = tiny_config();
  se_e2_a(config).activation = "relu";
  se_e2_a(config).sel = {4, 6};  // more neighbors than that: they are counted by each worker
  check(config, Precision::float64, 1e-12);
}

TEST_F(Threads, LibTorchHasAsManyAsKernels)
{
  EXPECT_EQ(use_threads(1), started_);  // the first call decides
  EXPECT_EQ(torch_threads_, started_);
  if (kernels::workers() == 1) GTEST_SKIP() << "Kokkos has no OpenMP: kernels run on one thread";
  EXPECT_EQ(kernels::workers(), 2);
}

TEST_F(Threads, CopiesAreAddedInOrder)
{
  // 1 + 1e-16 - 1 depends on the order
  kernels::Array<double> values;
  values.copy_from({1.0, 2.0, 1e-16, 3.0, -1.0, 4.0});
  kernels::sum_copies(values.data(), 2, {3, 2});
  const std::vector<double> sums = values.to_host();
  EXPECT_EQ(sums[0], (1.0 + 1e-16) - 1.0);
  EXPECT_EQ(sums[1], 9.0);
}

TEST_F(Threads, AllTasksAreDoneAndAFailureIsReported)
{
  std::vector<int> done(100, 0);
  EXPECT_THROW(kernels::for_tasks(done.size(),
                                  [&](std::size_t k) {
                                    ++done[k];
                                    if (k == 7) throw Error("the seventh");
                                  }),
               Error);
  EXPECT_EQ(done, std::vector<int>(100, 1));
}

TEST(ThreadShare, OfTheCoresThatRanksHaveInCommon)
{
  EXPECT_EQ(share_of_cores({1, 1, 1, 1}, {1, 1, 1, 1}), 4);        // alone
  EXPECT_EQ(share_of_cores({1, 1, 1, 1}, {2, 2, 2, 2}), 2);        // two ranks, no binding
  EXPECT_EQ(share_of_cores({1, 1, 0, 0}, {1, 1, 1, 1}), 2);        // two ranks, bound to halves
  EXPECT_EQ(share_of_cores({1, 1, 1, 0, 0}, {3, 3, 3, 0, 0}), 1);  // thirds of three
  EXPECT_EQ(share_of_cores({1, 1}, {4, 4}), 1);                    // never less than one
  EXPECT_EQ(share_of_cores({1, 1, 1}, {2, 2, 2}), 1);              // rounded down
}

TEST(ThreadShare, QuotaOfAContainer)
{
  EXPECT_EQ(cpu_quota("200000 100000"), 2.0);
  EXPECT_EQ(cpu_quota("50000 100000\n"), 0.5);
  for (const char *none : {"", "max 100000", "0 100000", "100000"})
    EXPECT_TRUE(std::isinf(cpu_quota(none))) << none;
}

TEST(ThreadShare, EnvironmentComesFirst)
{
  EXPECT_EQ(asked_threads(nullptr), 0);
  EXPECT_EQ(asked_threads("3"), 3);
  EXPECT_EQ(asked_threads("4,2"), 4);
  for (const char *bad : {"", "two", "0", "-1", "3x"}) EXPECT_EQ(asked_threads(bad), 0) << bad;
}

TEST(ThreadShare, OfThisProcess)
{
  const char *before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  setenv("OMP_NUM_THREADS", "37", 1);
  EXPECT_EQ(thread_share(), 37);
  unsetenv("OMP_NUM_THREADS");
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_GE(thread_share(), 1);
  EXPECT_LE(thread_share(), cores);
  EXPECT_LE(thread_share(nullptr, 2), std::max(1, cores / 2));
  EXPECT_EQ(thread_share(nullptr, 2 * cores), 1);
  if (before) setenv("OMP_NUM_THREADS", kept.c_str(), 1);
}

}  // namespace
}  // namespace dptrain::test
