// A training whose memory runs out again and again, on some ranks and not on others, ends where an undisturbed one does.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <stdexcept>

#include "base/random.h"
#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/memory_table.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/training/trainer.h"
#include "kernels/memory.h"
#include "support/random_frame.h"
#include "support/tiny_model.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

constexpr int FRAMES = 4, CHUNK = 16;

/// Throws what allocators throw: at random, and where more than a limit is in use.
class Scarcity {
 public:
  explicit Scarcity(std::uint64_t seed) : random_(seed)
  {
    kernels::set_allocation_hook([this](std::size_t bytes) {
      ++allocations_;
      if (kernels::memory_in_use().now + bytes > limit_) fail();
      if (allocations_ == next_) fail();
    });
  }
  ~Scarcity() { kernels::set_allocation_hook({}); }

  /// For the next step: an allocation that fails, a limit between `least` and `most` bytes, or nothing.
  void draw(std::size_t least, std::size_t most)
  {
    allocations_ = 0;
    next_ = random_index(random_, 3) == 0 ? 1 + random_index(random_, 60) : 0;
    const bool limited = random_index(random_, 3) == 0;
    limit_ = limited ? least + random_index(random_, most - least + 1) : SIZE_MAX;
  }
  std::int64_t failures = 0;

 private:
  void fail()
  {
    ++failures;
    switch (random_index(random_, 4)) {
    case 0:
      throw std::bad_alloc();
    case 1:
      throw OutOfMemory("no memory for kernels");
    case 2:
      throw std::runtime_error("CUDA error: CUBLAS_STATUS_ALLOC_FAILED");
    default:
      throw std::runtime_error("RuntimeError: CUDA out of memory.");
    }
  }
  RandomEngine random_;
  std::uint64_t allocations_ = 0, next_ = 0;
  std::size_t limit_ = SIZE_MAX;
};

struct Training {
  Training() :
      comm(world()), model(make_deep_pot(tiny_model(tiny_config()))), trainer(model, comm, config())
  {
    for (int k = 0; k < FRAMES; ++k)
      trainer.add(scatter_frame(comm, random_frame(k + 1, 24, skewed_box(6.5), true, 1.3), 4.0));
  }
  static TrainingConfig config()
  {
    TrainingConfig config;
    config.batch_size = 2;
    config.schedule.start_lr = 1e-4;
    config.fit_energy_bias = false;
    return config;
  }
  std::shared_ptr<const Communicator> comm;
  std::shared_ptr<Model> model;
  Trainer trainer;
};

}  // namespace

// Chunks of other sizes change the order of sums, and Adam divides by the root of small squares: 1e-9 after 1000 steps.
TEST(MemorySoak, AllFailuresAreSurvived)
{
  Training calm, disturbed;
  const int steps = calm.comm->size() > 2 ? 200 : 1000;  // test machines have two cores
  for (int step = 0; step < steps; ++step) calm.trainer.update();
  // what a step takes with chunks of one center and with usual ones
  const auto needed = [&](int chunk) {
    disturbed.model->set_chunk(chunk);
    disturbed.model->release_workspace();
    std::vector<double> unused;
    disturbed.trainer.loss_gradient({0, 1, 2, 3}, unused);
    return kernels::memory_in_use().now;
  };
  // tables grow a little as the nets learn
  const std::size_t least = needed(1) + needed(1) / 10, most = least + needed(CHUNK) / 4;
  std::int64_t failures = 0;
  {
    Scarcity scarcity(4711 + disturbed.comm->rank());
    for (int step = 0; step < steps; ++step) {
      disturbed.model->release_workspace();  // else nothing is allocated after the first steps
      if (step % 10 == 0) disturbed.model->set_chunk(CHUNK);
      scarcity.draw(least, most);
      disturbed.trainer.update();
    }
    failures = scarcity.failures;
  }
  EXPECT_GT(failures, steps / 5);
  // the others hit what is outside of the model, which tries once more
  EXPECT_GE(disturbed.model->memory_shortages().number, failures / 2);
  EXPECT_EQ(disturbed.trainer.steps(), steps);
  const auto &a = calm.model->parameters().values(), &b = disturbed.model->parameters().values();
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-9) << k;
}

TEST(MemoryTable, SmallestMeanAndLargestOfTheRanks)
{
  const auto comm = world();
  const std::size_t rank = comm->rank(), size = comm->size();
  const std::string text =
      memory_table(*comm, {{"frames", (rank + 1) << 20}, {"optimizer", std::size_t(3) << 19}});
  if (rank > 0) return;
  char expected[128];
  std::snprintf(expected, sizeof(expected), "frames %20.3f %12.3f %12.3f\n", 1.0,
                0.5 * static_cast<double>(size + 1), static_cast<double>(size));
  const auto has = [&](const std::string &line) {
    // blanks between name and number do not count
    std::string packed, wanted;
    for (const char c : text)
      if (c != ' ') packed += c;
    for (const char c : line)
      if (c != ' ') wanted += c;
    return packed.find(wanted) != std::string::npos;
  };
  EXPECT_TRUE(has(expected)) << text;
  EXPECT_TRUE(has("optimizer 1.500 1.500 1.500\n")) << text;
  EXPECT_NE(text.find("process peak"), std::string::npos);
}

TEST(MemoryLedger, TrainerAndModelKnowWhatTheyHold)
{
  Training t;
  t.trainer.update();
  MemoryLedger ledger = t.model->memory();
  add_uses(ledger, t.trainer.memory());
  for (const char *purpose : {"parameters", "tables", "workspace", "frames", "neighbor rows",
                              "residuals", "optimizer", "gradient"}) {
    const auto place = std::find_if(ledger.begin(), ledger.end(),
                                    [&](const MemoryUse &use) { return use.purpose == purpose; });
    ASSERT_NE(place, ledger.end()) << purpose;
    EXPECT_GT(place->bytes, 0u) << purpose;
  }
  // what kernels hold is what the model says, but for the copies of rules
  const std::size_t model = t.model->memory_bytes() - t.model->memory()[0].bytes;
  EXPECT_GT(model, kernels::memory_in_use().now / 2);
}

}  // namespace dptrain::test
