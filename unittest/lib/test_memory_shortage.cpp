// Memory that runs out: recognized whoever says so, and survived by the model with smaller chunks.

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cmath>
#include <new>

#include "base/memory_shortage.h"
#include "base/process_memory.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/native/deep_pot.h"
#include "kernels/memory.h"
#include "support/both_passes.h"
#include "support/tiny_model.h"

namespace dptrain::test {

namespace {

/// Throws `fail` at the allocation number `at` from now on, and at the `times - 1` next ones.
struct FailingAllocations {
  FailingAllocations(int at, int times, const std::function<void()> &fail)
  {
    kernels::set_allocation_hook([=, count = 0](std::size_t) mutable {
      ++count;
      if (count >= at && count < at + times) fail();
    });
  }
  ~FailingAllocations() { kernels::set_allocation_hook({}); }
};

const std::vector<std::function<void()>> &failures()
{
  static const std::vector<std::function<void()>> all = {
      [] { throw std::bad_alloc(); },
      [] { throw OutOfMemory("no memory left for kernels"); },
      // LibTorch's own type, and what TorchScript makes of it
      [] {
        TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2 GiB");
      },
      [] {
        throw std::runtime_error(
            "The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript (most recent call last):\nRuntimeError: CUDA "
            "out of memory. Tried to allocate 20.00 MiB");
      },
      [] {
        throw std::runtime_error(
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`");
      },
      [] { throw std::runtime_error("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"); },
      [] { throw std::runtime_error("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED"); },
      [] { throw std::runtime_error("NCCL WARN Cuda failure 2 'out of memory'"); },
      [] { throw std::runtime_error("NCCL error: Failed to CUDA calloc async 24 bytes"); },
      [] { throw std::runtime_error("HIP out of memory. Tried to allocate 1.00 GiB"); },
      [] { throw std::runtime_error("HIP error: hipErrorOutOfMemory"); },
      [] { throw std::runtime_error("HIPBLAS_STATUS_ALLOC_FAILED"); },
      [] {
        throw std::runtime_error(
            "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate "
            "memory: you tried to allocate 80000000000 bytes. Error code 12");
      },
      [] {
        throw std::runtime_error(
            "Kokkos ERROR: Cuda memory space failed to allocate 8 GiB (label=\"t\")");
      },
      [] { throw std::runtime_error("cudaErrorMemoryAllocation"); },
  };
  return all;
}

void expect_same(const Result &a, const Result &b)
{
  EXPECT_NEAR(a.energy, b.energy, 1e-12 * std::abs(a.energy));
  for (std::size_t k = 0; k < a.force.size(); ++k) EXPECT_NEAR(a.force[k], b.force[k], 1e-12);
}

}  // namespace

TEST(MemoryShortage, EveryFormIsRecognized)
{
  for (std::size_t k = 0; k < failures().size(); ++k) try {
      failures()[k]();
    } catch (const std::exception &error) {
      EXPECT_NE(memory_shortage(error), "") << k << ": " << error.what();
    }
}

TEST(MemoryShortage, OtherErrorsAreNot)
{
  for (const char *text : {"CUDA error: an illegal memory access was encountered",
                           "CUBLAS_STATUS_EXECUTION_FAILED", "NCCL error: unhandled system error",
                           "two atoms are at the same place", "CUDNN_STATUS_BAD_PARAM"})
    EXPECT_EQ(memory_shortage(std::runtime_error(text)), "") << text;
}

TEST(MemoryShortage, WorkBeginsAgainUntilNobodyHelps)
{
  int runs = 0, helps = 0;
  const auto work = [&] {
    if (++runs < 4) throw std::bad_alloc();
  };
  with_relief(work, [&](const std::string &) { return ++helps < 10; });
  EXPECT_EQ(runs, 4);
  runs = -100;
  EXPECT_THROW(with_relief(work, [](const std::string &) { return false; }), OutOfMemory);
  EXPECT_EQ(runs, -99);
  EXPECT_THROW(with_relief([] { throw Error("else"); }, [](const std::string &) { return true; }),
               Error);
}

// Each form at each of the first allocations of a model that has none yet.
TEST(MemoryShortage, TheModelGoesOnWithSmallerChunks)
{
  const Cluster cluster(60, 2, 9.0);
  const auto model = make_deep_pot(tiny_model(tiny_config()));
  const Result expected = evaluate(*model, cluster.domain());
  for (std::size_t form = 0; form < failures().size(); ++form) {
    const auto other = make_deep_pot(tiny_model(tiny_config()));
    other->set_chunk(16);
    const FailingAllocations failing(1 + 3 * static_cast<int>(form), 2, failures()[form]);
    expect_same(expected, evaluate(*other, cluster.domain()));
    EXPECT_EQ(other->memory_shortages().number, 2);
    EXPECT_EQ(other->memory_shortages().chunk, 4);
    EXPECT_NE(other->memory_shortages().latest, "");
  }
}

// In both precisions and both passes, at every allocation that a training step makes.
TEST(MemoryShortage, TheGradientIsTheSameWhereverMemoryRanOut)
{
  const Cluster cluster(40, 2, 8.0);
  std::vector<double> residuals(3 * 40);
  for (std::size_t k = 0; k < residuals.size(); ++k) residuals[k] = std::sin(1.0 + k);
  GradientSeed seed;
  seed.energy = 0.3;
  seed.force = residuals.data();
  for (const Precision precision : {Precision::float64, Precision::single}) {
    const auto results_of = [&](Model &model) {
      std::vector<double> force(3 * 40);
      ForwardOutput out;
      out.force = force.data();
      const Domain domain = cluster.domain();
      const auto tape = model.forward(&domain, 1, &out, true);
      std::vector<double> gradient = gradient_of(model, *tape, &seed);
      gradient.push_back(out.energy);
      gradient.insert(gradient.end(), force.begin(), force.end());
      return gradient;
    };
    const auto model = make_deep_pot(tiny_model(tiny_config()));
    model->set_precision(precision);
    const auto before = kernels::counters().allocations;
    const std::vector<double> expected = results_of(*model);
    const int allocations = static_cast<int>(kernels::counters().allocations - before);
    ASSERT_GT(allocations, 20);
    double largest = 0.0;
    for (const double g : expected) largest = std::max(largest, std::abs(g));
    const double tolerance = (precision == Precision::float64 ? 1e-12 : 3e-6) * largest;
    for (int at = 1; at <= allocations; ++at) {
      const auto other = make_deep_pot(tiny_model(tiny_config()));
      other->set_precision(precision);
      const FailingAllocations failing(at, 1, failures()[at % failures().size()]);
      const std::vector<double> found = results_of(*other);
      EXPECT_EQ(other->memory_shortages().number, 1) << at;
      EXPECT_EQ(other->auxiliary_state(), model->auxiliary_state()) << at;  // the table's grid
      for (std::size_t k = 0; k < found.size(); ++k)
        ASSERT_NEAR(found[k], expected[k], tolerance) << at;
    }
  }
}

TEST(MemoryShortage, WithoutAnyMemoryTheErrorSaysSoAndTheModelLives)
{
  const Cluster cluster(20, 2, 7.0);
  const auto model = make_deep_pot(tiny_model(tiny_config()));
  {
    const FailingAllocations failing(1, 1 << 30, failures()[1]);
    EXPECT_THROW(evaluate(*model, cluster.domain()), OutOfMemory);
  }
  EXPECT_EQ(model->memory_shortages().chunk, 1);
  const auto fresh = make_deep_pot(tiny_model(tiny_config()));
  expect_same(evaluate(*fresh, cluster.domain()), evaluate(*model, cluster.domain()));
}

TEST(KernelMemory, IsCounted)
{
  const std::size_t before = kernels::memory_in_use().now;
  {
    kernels::Array<double> array;
    array.resize(1000);
    EXPECT_EQ(kernels::memory_in_use().now, before + 8000);
    EXPECT_GE(kernels::memory_in_use().peak, before + 8000);
    array.resize(10);
    EXPECT_EQ(kernels::memory_in_use().now, before + 8000);
  }
  EXPECT_EQ(kernels::memory_in_use().now, before);
  const auto memory = kernels::memory_for_kernels();
  EXPECT_GT(memory.free, std::size_t(1) << 20);
  EXPECT_GE(memory.total, memory.free);
}

TEST(ProcessMemory, IsThatOfTheSystem)
{
  EXPECT_EQ(bytes_of_line("VmPeak:\t  100 kB\nVmRSS:\t   12 kB\n", "VmRSS"), 12u * 1024);
  EXPECT_EQ(bytes_of_line("VmPeak:\t  100 kB\n", "VmRSS"), 0u);
  EXPECT_EQ(bytes_of_line("anon 5\ninactive_file 4096\n", "inactive_file"), 4096u);
  const ProcessMemory memory = process_memory();
  EXPECT_GT(memory.resident, std::size_t(1) << 20);
  EXPECT_GE(memory.peak, memory.resident);
}

}  // namespace dptrain::test
