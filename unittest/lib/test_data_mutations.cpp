// 10,000 damaged files at all readers: each is read, or refused with dptrain::Error. No crash, no other exception, no
// allocation beyond what the size of the file explains, no endless loop. The same files in every run.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "dptrain/base/error.h"
#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/data/data_set.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/potential/files/model_file.h"
#include "support/hdf5_system.h"
#include "support/mutation.h"
#include "support/tiny_model.h"
#include "support/whole_frame.h"

// A size that a file merely claims must not be allocated. The largest honest piece: a block of an extxyz file, 1 MiB,
// and the columns that a line of Properties may name, 16 MiB.
static constexpr std::size_t largest_allocation = 32 << 20;

// not to be inlined: the compiler would see free() at the end of new
[[gnu::noinline]] void *operator new(std::size_t size)
{
  void *memory = size > largest_allocation ? nullptr : std::malloc(size);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept
{
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
  std::free(memory);
}

namespace dptrain {
namespace {

using test::Mutator;
using test::Scratch;
using test::WaterSystem;

/// GiB that the process has had at most.
double peak_memory()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

/// Runs `work`, which may throw Error only. Returns whether it did not.
template <typename Work> bool survives(Work &&work)
{
  try {
    work();
    return true;
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()), "");
    return false;
  }
}

void read_all(const std::string &path)
{
  DataOptions options;
  options.type_map = {"O", "H"};
  options.numb_generalized_coord = 1;
  const auto system = open_system(path, options);
  for (std::int64_t k = 0; k < system->num_frames(); ++k) {
    const WholeFrame frame = system->read(k);
    EXPECT_EQ(static_cast<std::int64_t>(frame.type.size()), system->natoms(k));
    EXPECT_EQ(frame.coord.size(), 3 * frame.type.size());
  }
}

// GiB more than before; the address sanitizer keeps 256 MiB of what was freed
#ifdef __SANITIZE_ADDRESS__
constexpr double MOST_MEMORY = 0.75;
#else
constexpr double MOST_MEMORY = 0.25;
#endif

class DamagedFiles : public testing::Test {
 protected:
  /// Damages one of `files` at a time (all of the folder `root`) `count` times, and reads `target`.
  void run(const std::string &root, const std::vector<std::string> &files, int count,
           const std::function<void()> &read)
  {
    std::vector<std::string> originals;
    for (const auto &file : files) originals.push_back(read_file(root + "/" + file));
    ASSERT_TRUE(survives(read)) << "the files are wrong before they are damaged";
    int refused = 0;
    for (int i = 0; i < count; ++i) {
      const std::size_t which = mutator_.pick(files.size());
      const std::string path = root + "/" + files[which];
      // a new file each time: to shorten one makes the file system wait for the disk
      std::filesystem::remove(path);
      write_file(path, mutator_.damage(originals[which]));
      try {
        refused += survives(read) ? 0 : 1;
      } catch (const std::exception &error) {
        ADD_FAILURE() << "file " << i << " (" << files[which] << "): " << error.what();
      }
      std::filesystem::remove(path);
      write_file(path, originals[which]);
    }
    // neither are all damages harmless, nor does the reader refuse everything
    EXPECT_GT(refused, count / 10);
    EXPECT_LT(refused, count);
    EXPECT_LT(peak_memory(), memory_before_ + MOST_MEMORY);
  }

  Mutator mutator_{20240117};
  double memory_before_ = peak_memory();
};

TEST_F(DamagedFiles, Npy)
{
  const WaterSystem system;
  system.with("set.000/drdq.npy", test::npy_rows_of(2, 6, std::vector<double>(12, 1.0)));
  run(system.path(),
      {"type.raw", "type_map.raw", "set.000/coord.npy", "set.000/box.npy", "set.000/energy.npy",
       "set.000/force.npy", "set.000/drdq.npy"},
      2500, [&] {
        read_all(system.path());
        elements_of({system.path()});
      });
}

TEST_F(DamagedFiles, MixedTypes)
{
  const WaterSystem system;
  system.with(
      "set.000/real_atom_types.npy",
      test::numpy_file<std::int16_t>(">i2", "(2, 2)", test::swapped<std::int16_t>({0, 1, -1, 1})));
  system.with("set.000/force.npy",
              test::numpy_file<float>("<f4", "(2, 2, 3)", std::vector<float>(12, 1.0f), true));
  run(system.path(), {"set.000/real_atom_types.npy", "set.000/force.npy", "type_map.raw"}, 1500,
      [&] {
        read_all(system.path());
        elements_of({system.path()});
      });
}

TEST_F(DamagedFiles, Extxyz)
{
  const Scratch scratch;
  scratch.with("a.extxyz",
               "2\nLattice=\"4 0 0 1 5 0 0 2 6\" Properties=species:S:1:pos:R:3:forces:R:3 "
               "energy=-1.5 pbc=\"T T F\" stress=\"1 2 3 4 5 6\"\n"
               "O 0 0 0 0.1 0.2 0.3\nH 1 0 0.5 -1e-1 -2.D-01 +0.3\n"
               "1\nProperties=Z:I:1:pos:R:3 virial=[1, 0, 0, 0, 1, 0, 0, 0, 1] note='a \\' b'\n"
               "8 0 0 0\n2\nplain\nH 0 0 0\nO 0 0 1\n");
  run(scratch.path(), {"a.extxyz"}, 3000, [&] { read_all(scratch / "a.extxyz"); });
}

TEST_F(DamagedFiles, Hdf5)
{
  const Scratch scratch;
  const std::string path = scratch / "a.hdf5";
  {
    test::Hdf5Systems file(path);
    file.system("/a");
    file.remove("/a/set.000/force.npy");
    file.numbers("/a/set.000/force.npy", {2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                 H5T_IEEE_F64LE, 1);
  }
  run(scratch.path(), {"a.hdf5"}, 1500, [&] {
    for (const auto &name : find_systems({path})) read_all(name);
    read_all(path + "#/a");
  });
}

TEST_F(DamagedFiles, LabeledFrames)
{
  const Scratch scratch;
  {
    FramesFile file(scratch / "a.frames", {"H", "O"}, 0);
    for (int k = 0; k < 3; ++k) file.append(test::random_whole_frame(3, 2, k + 1));
  }
  run(scratch.path(), {"a.frames"}, 1000, [&] { FramesFile::read(scratch / "a.frames", 2); });
  run(scratch.path(), {"a.frames"}, 1000, [&] { read_all(scratch / "a.frames"); });
}

TEST_F(DamagedFiles, Models)
{
  const Scratch scratch;
  Checkpoint checkpoint;
  checkpoint.model = test::tiny_model(test::tiny_config());
  checkpoint.parameters = checkpoint.model.parameters;
  State moments;
  moments.set("mean", checkpoint.model.parameters);
  moments.set("steps", 3);
  checkpoint.trainer.set("optimizer", moments);
  checkpoint.session.set("program", program_fix);
  checkpoint.session.set("trained", true);
  write_checkpoint(scratch / "a.ckpt", checkpoint);
  run(scratch.path(), {"a.ckpt"}, 500, [&] {
    read_dp(scratch / "a.ckpt");
    read_checkpoint(scratch / "a.ckpt");
  });
}

}  // namespace
}  // namespace dptrain
