// Errors of a model: DeePMD-kit's numbers (unittest/reference) with known shifts as labels, on as many ranks as there are.

#include <algorithm>
#include <numeric>

#include "commands/test_order.h"
#include "dptrain/potential/files/model_file.h"
#include "support/known_frames.h"

namespace dptrain::test {

namespace {

/// A row of the detail files against DeePMD-kit's results.
void expect_row(const double *row, const Known &known)
{
  const Label &label = known.frame.label;
  EXPECT_EQ(row[detail_row::energy], *label.energy);
  EXPECT_NEAR(row[detail_row::energy + 1], known.result.energy, KNOWN_TOLERANCE);
  for (int c = 0; c < 9; ++c) {
    EXPECT_EQ(row[detail_row::virial + c], (*label.virial)[c]);
    EXPECT_NEAR(row[detail_row::virial + 9 + c], known.result.virial[c], KNOWN_TOLERANCE);
  }
  const double size = known.frame.periodic ? std::abs(volume(known.frame.box)) : 0.0;
  EXPECT_NEAR(row[detail_row::volume], size, 1e-12 * size);
  for (std::size_t k = 0; k < label.force.size(); ++k) {
    const double *pair = row + detail_row::force + 6 * (k / 3) + k % 3;
    EXPECT_EQ(pair[0], label.force[k]);
    EXPECT_NEAR(pair[3], known.result.force[k], KNOWN_TOLERANCE);
  }
}

class KnownCase : public ::testing::TestWithParam<const char *> {};

}  // namespace

TEST_P(KnownCase, ErrorsAndDetailsOfFramesOfAllSizes)
{
  const auto comm = world();
  struct Way {
    int copies;  // one: with four ranks all of them test each frame of some cases together; five: whole frames
    std::size_t block;  // 1: as few frames in a block as there are ranks
  };
  for (const Way way : {Way{1, 1 << 20}, Way{5, 1 << 20}, Way{1, 1}, Way{5, 1}, Way{5, 700}}) {
    SCOPED_TRACE(std::to_string(way.copies) + " copies, block of " + std::to_string(way.block));
    const KnownSystem system(known_frames(GetParam(), way.copies));
    const SystemTest test(comm, load_model(model_of(GetParam())), true, true, {}, way.block);
    std::size_t next = 0;
    const SystemErrors found = test.run(system, all_frames(system), [&](const double *row, auto) {
      expect_row(row, system.frames().at(next++));
    });
    EXPECT_EQ(next, comm->rank() == 0 ? system.frames().size() : 0);
    const TestErrors errors = errors_of(found.sums);
    auto expected = differences_of(system.frames());
    expected["e"].expect(errors.energy, "energy");
    expected["ea"].expect(errors.energy_per_atom, "energy per atom");
    expected["f"].expect(errors.force, "force");
    expected["fw"].expect(errors.weighted_force, "weighted force");
    expected["v"].expect(errors.virial, "virial");
    expected["va"].expect(errors.virial_per_atom, "virial per atom");
    expected["s"].expect(errors.stress, "stress");
    expected["ae"].expect(errors.atomic_energy, "atomic energy");
  }
}

INSTANTIATE_TEST_SUITE_P(Reference, KnownCase,
                         ::testing::Values("one_side", "triclinic_3type_two_side", "isolated",
                                           "exclude_both_overflow", "atom_exclude"));

TEST(ModelErrors, FramesInAnyOrder)
{
  const KnownSystem system(known_frames("one_side", 5));
  const SystemTest test(world(), load_model(model_of("one_side")), false, true);
  const std::vector<std::int64_t> order{7, 2, 9, 2, 0, 5};
  std::size_t next = 0;
  const SystemErrors found = test.run(system, order, [&](const double *row, auto) {
    expect_row(row, system.frames().at(order.at(next++)));
  });
  std::vector<Known> tested;
  for (const auto k : order) tested.push_back(system.frames()[k]);
  differences_of(tested)["f"].expect(errors_of(found.sums).force, "force");
  EXPECT_FALSE(errors_of(found.sums).atomic_energy.found);
}

TEST(ModelErrors, LabelsThatAreMissingDoNotCount)
{
  std::vector<Known> frames = known_frames("one_side", 4);
  std::vector<Known> with_energy, with_force;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    Label &label = frames[k].frame.label;
    label.virial.reset();
    label.atom_energy.clear();
    (k % 3 ? with_energy : with_force).push_back(frames[k]);
    if (k % 3)
      label.force.clear();
    else
      label.energy.reset();
  }
  const KnownSystem system(frames);
  const SystemTest test(world(), load_model(model_of("one_side")), false, true);
  const SystemErrors found = test.run(system, all_frames(system), [&](const double *row, auto) {
    EXPECT_EQ(row[detail_row::virial], 0.0);
    EXPECT_EQ(row[detail_row::volume], 0.0);
    EXPECT_NE(row[detail_row::virial + 9], 0.0);
  });
  const TestErrors errors = errors_of(found.sums);
  differences_of(with_energy)["e"].expect(errors.energy, "energy");
  differences_of(with_force)["f"].expect(errors.force, "force");
  EXPECT_FALSE(errors.virial.found || errors.virial_per_atom.found || errors.stress.found);
}

TEST(ModelErrors, AtomicEnergiesThatAreAskedForMustBeThere)
{
  std::vector<Known> frames = known_frames("one_side", 3);
  frames[3].frame.label.atom_energy.clear();
  const KnownSystem system(frames);
  const SystemTest test(world(), load_model(model_of("one_side")), true, false);
  const auto none = [](const double *, std::int64_t) {};
  expect_in("known: frame 3: no atomic energies",
            message_of([&] { test.run(system, all_frames(system), none); }));
}

TEST(ModelErrors, ABrokenFrameIsNamedOnAllRanks)
{
  std::vector<Known> frames = known_frames("one_side", 4);
  std::copy_n(frames[5].frame.coord.begin(), 3, frames[5].frame.coord.begin() + 3);
  const KnownSystem system(frames);
  const SystemTest test(world(), load_model(model_of("one_side")), false, false);
  const auto none = [](const double *, std::int64_t) {};
  expect_in("known: frame 5: ", message_of([&] { test.run(system, all_frames(system), none); }));
  expect_in("known: frame 5: ", message_of([&] { test.run(system, {5}, none); }));
}

TEST(ModelErrors, RandomOrder)
{
  TestOptions options;
  options.shuffle = true;
  options.seed = 42;
  FrameOrder order(options), same(options);
  const auto sorted = [](std::vector<std::int64_t> frames) {
    std::sort(frames.begin(), frames.end());
    return frames;
  };
  std::vector<std::int64_t> all(100);
  std::iota(all.begin(), all.end(), std::int64_t(0));
  const auto first = order.next(100), second = order.next(100);
  EXPECT_EQ(sorted(first), all);
  EXPECT_EQ(sorted(second), all);
  EXPECT_NE(first, all);
  EXPECT_NE(first, second);
  EXPECT_EQ(same.next(100), first);
  EXPECT_EQ(same.next(100), second);
  options.numb_test = 3;
  EXPECT_EQ(FrameOrder(options).next(100),
            (std::vector<std::int64_t>(first.begin(), first.begin() + 3)));
  options.seed = 43;
  EXPECT_NE(FrameOrder(options).next(100),
            (std::vector<std::int64_t>(first.begin(), first.begin() + 3)));
  // each of 4 frames comes first in 1000 of 4000 orders, within five standard deviations of 27
  options.numb_test = 1;
  FrameOrder many(options);
  std::vector<int> counts(4, 0);
  for (int k = 0; k < 4000; ++k) ++counts[many.next(4).front()];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 137);
  options.numb_test = 3;
  options.shuffle = false;
  EXPECT_EQ(FrameOrder(options).next(10), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(FrameOrder(options).next(2), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(FrameOrder(TestOptions()).next(1), std::vector<std::int64_t>{0});
}

}  // namespace dptrain::test
