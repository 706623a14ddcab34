// What a step costs, in counts that do not depend on the machine: blocks of memory taken, kernels launched, matrix
// products, tables built.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/evaluator.h"
#include "dptrain/training/trainer.h"
#include "kernels/memory.h"
#include "potential/native/deep_pot.h"
#include "support/random_frame.h"
#include "support/tiny_model.h"

namespace {

// Blocks of this size and more taken by operator new: arrays over atoms, edges or parameters, not the small objects of
// a step.
constexpr std::size_t large_block = 4096;
std::int64_t large_blocks = 0;

void *take(std::size_t size)
{
  if (size >= large_block) ++large_blocks;
  if (void *block = std::malloc(size > 0 ? size : 1)) return block;
  throw std::bad_alloc();
}

}  // namespace

void *operator new(std::size_t size)
{
  return take(size);
}
void *operator new[](std::size_t size)
{
  return take(size);
}
void operator delete(void *block) noexcept
{
  std::free(block);
}
void operator delete[](void *block) noexcept
{
  std::free(block);
}
void operator delete(void *block, std::size_t) noexcept
{
  std::free(block);
}
void operator delete[](void *block, std::size_t) noexcept
{
  std::free(block);
}

namespace dptrain::test {
namespace {

// A device takes other ways, which copy and launch more.
#define SKIP_ON_A_DEVICE \
  if (kernels::separate_memory()) GTEST_SKIP() << "the counts are those of a host"

struct Cost {
  std::int64_t allocations, large_blocks, launches, products, table_builds;
};

/// The cost of work.
template <class Work> Cost cost_of(const Work &work)
{
  const kernels::Counters before = kernels::counters();
  const std::int64_t blocks = large_blocks;
  work();
  const kernels::Counters &after = kernels::counters();
  return {after.allocations - before.allocations, large_blocks - blocks,
          after.launches - before.launches, after.products - before.products,
          after.table_builds - before.table_builds};
}

struct GuardCase {
  std::string name;
  Precision precision;
  bool atom_ener;
  int launches, products;  ///< per step of training, see below
  friend void PrintTo(const GuardCase &c, std::ostream *out) { *out << c.name; }
};

ModelConfig config(bool atom_ener)
{
  ModelConfig c = tiny_config();
  se_e2_a(c).sel = {60, 60};
  if (atom_ener) c.atom_ener = {-2.0, std::nullopt};
  return c;
}

class PerformanceGuard : public testing::TestWithParam<GuardCase> {
 protected:
  PerformanceGuard()
  {
    model_ = std::make_shared<DeepPot>(tiny_model(config(GetParam().atom_ener)));
    model_->set_precision(GetParam().precision);
  }
  std::unique_ptr<Trainer> trainer(int batch_size, int frames)
  {
    TrainingConfig training;
    training.batch_size = batch_size;
    training.schedule.start_lr = 1e-4;
    auto t = std::make_unique<Trainer>(model_, comm_, training);
    for (int k = 0; k < frames; ++k)
      t->add(scatter_frame(comm_, random_frame(k + 1, 40, skewed_box(7.5), true, 1.4),
                           model_->cutoff()));
    return t;
  }

  std::shared_ptr<DeepPot> model_;
  std::shared_ptr<const Communicator> comm_ = make_mpi_communicator();
};

// Frames of a batch share chunks and matrix products: a step costs the same number for one and for three frames, whose
// atoms fit into one chunk for each of the two types.
//
// Matrix products: 2 embedding nets of 2 layers, each 2 at the build of the table and 3 in reverse; for each type 3 layers
// of the fitting net, each 1 forward, 1 in reverse and 3 for the gradient: 2 (2 + 3) + 2 (3 x 5) = 40.
// Kernels: pass A 15 per chunk (gather; value and reverse of contraction and descriptor; activation, value and reverse
// of each layer; energies to float64). Pass B 16 (tangents, reverse and gradient of contraction and descriptor in four;
// tangents of two layers, three kernels for each; dS/dD). Each table 6 at the build (copy, two for each layer, fill) and 5
// back: 2 (15 + 16 + 6 + 5) = 84, and the sum of squares of the gradient is one. float32 adds five conversions. The energy of the isolated atom of one type is one
// more chunk with one atom: 3 + 15 products and 6 + 21 kernels.
TEST_P(PerformanceGuard, TrainingStep)
{
  SKIP_ON_A_DEVICE;
  for (int batch : {1, 3}) {
    SCOPED_TRACE("frames per batch: " + std::to_string(batch));
    const auto t = trainer(batch, 3);
    for (int k = 0; k < 12; ++k) t->update();  // every frame in every place of the batch
    for (int k = 0; k < 6; ++k) {
      const Cost c = cost_of([&] { t->update(); });
      EXPECT_EQ(c.allocations, 0) << "step " << k;
      EXPECT_EQ(c.large_blocks, 0) << "step " << k;
      EXPECT_EQ(c.table_builds, 1);
      EXPECT_LE(c.launches, GetParam().launches);
      EXPECT_LE(c.products, GetParam().products);
      EXPECT_GT(c.products, 0) << "nothing was counted";
    }
  }
}

// The ways of a device, on the host: four kernels search the neighbors of all frames and one makes the lists of a chunk; the
// gradient of the table is two matrix products for each chunk and type of neighbor.
TEST_P(PerformanceGuard, TrainingStepInTheWaysOfADevice)
{
  SKIP_ON_A_DEVICE;
  model_->engine().use_device_algorithms(true);
  const auto t = trainer(1, 3);
  for (int k = 0; k < 12; ++k) t->update();
  for (int k = 0; k < 6; ++k) {
    const Cost c = cost_of([&] { t->update(); });
    EXPECT_EQ(c.allocations, 0) << "step " << k;
    EXPECT_LE(c.launches, GetParam().launches + 4 + 2);
    EXPECT_LE(c.products, GetParam().products + 2 * 2 * 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PerformanceGuard,
                         testing::Values(GuardCase{"float64", Precision::float64, false, 85, 40},
                                         GuardCase{"float32", Precision::single, false, 90, 40},
                                         GuardCase{"atom_ener", Precision::float64, true, 112, 58}),
                         [](const auto &info) { return info.param.name; });

/// Repeated steps of molecular dynamics with constant parameters; the atoms move a little.
class StepGuard : public testing::TestWithParam<Precision> {};

TEST_P(StepGuard, StepOfDynamics)
{
  SKIP_ON_A_DEVICE;
  const auto comm = make_mpi_communicator();
  const auto model = std::make_shared<DeepPot>(tiny_model(config(false)));
  model->set_precision(GetParam());
  constexpr int chunk = 16;
  model->set_chunk(chunk);
  Frame frame = scatter_frame(comm, random_frame(1, 90, skewed_box(10.0), true, 1.4), 4.0);
  int chunks = 0;
  for (int type = 0; type < 2; ++type) {
    int centers = 0;
    for (int i = 0; i < frame.nlocal; ++i) centers += frame.type[i] == type;
    chunks += (centers + chunk - 1) / chunk;
  }
  ASSERT_GT(chunks, 4);
  Evaluator evaluator(model);
  std::vector<double> force(3 * frame.nall());
  Numbers random(5);
  const auto step = [&] {
    for (double &x : frame.x) x += random(-1e-3, 1e-3);
    ForwardOutput out;
    out.force = force.data();
    evaluator.step(frame.domain(), out);
  };
  // with the engine's lists, then with searched ones: four kernels for all atoms, and one more for each chunk
  for (const bool search : {false, true}) {
    SCOPED_TRACE(search ? "searched neighbors" : "lists of the engine");
    model->engine().use_device_algorithms(search);
    for (int k = 0; k < 5; ++k) step();
    for (int k = 0; k < 10; ++k) {
      const Cost c = cost_of(step);
      EXPECT_EQ(c.allocations, 0);
      EXPECT_EQ(c.large_blocks, 0);
      EXPECT_EQ(c.table_builds, 0);
      EXPECT_EQ(c.launches, search ? 4 + 13 * chunks : 12 * chunks);
      EXPECT_EQ(c.products, 6 * chunks);  // three layers, forward and reverse
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, StepGuard,
                         testing::Values(Precision::float64, Precision::single),
                         [](const auto &info) {
                           return info.param == Precision::single ? "float32" : "float64";
                         });

}  // namespace
}  // namespace dptrain::test
