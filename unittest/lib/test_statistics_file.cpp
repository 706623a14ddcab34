// DeePMD-kit's stat_file against files that DeePMD-kit wrote (unittest/reference/stat_file), and, where the environment
// variable DPTRAIN_DEEPMD names its `dp`, against a `dp train` that starts from ours.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/sha1.h"
#include "data/npy.h"
#include "dptrain/data/data_set.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "io/file.h"
#include "io/hdf5_file.h"
#include "statistics/data/statistics_file.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

using Json = nlohmann::json;
const std::string ROOT = std::string(DPTRAIN_TEST_DATA) + "/stat_file";
const std::vector<std::string> SYSTEMS{"all_types", "no_type1", "cluster"};

ModelConfig model(const std::vector<int> &sel)
{
  ModelConfig config;
  config.descriptor = std::make_unique<SeE2AConfig>();
  config.type_map = {"Al", "Cu", "Ni"};
  config.rcut = 4.0;
  se_e2_a(config).rcut_smth = 0.5;
  se_e2_a(config).sel = sel;
  return config;
}

const ModelConfig PLAIN = model({60, 50, 60}), OVERFLOW = model({6, 5, 7});

DataStatistics collect(const ModelConfig &config)
{
  Systems systems;
  DataOptions options;
  options.type_map = config.type_map;
  for (const auto &name : SYSTEMS)
    systems.push_back(open_system(std::string(DPTRAIN_TEST_DATA) + "/statistics/" + name, options));
  return collect_statistics(*make_mpi_communicator(), systems, config);
}

/// Sums of some hundred numbers of order one, in another order.
constexpr double TOLERANCE = 1e-12;
/// Which of two images at the same distance on opposite sides is cut off by sel is open; the sum of angular entries of
/// type 0 and 2 feels it.
constexpr int ANGULAR_SUM = 2;

void expect_same(const StoredStatistics &found, const StoredStatistics &expected, bool cut)
{
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(found.statistics.centers(t), expected.statistics.centers(t));
    for (int c = 0; c < 4; ++c) {
      if (cut && c == ANGULAR_SUM) continue;
      EXPECT_NEAR(found.statistics.sums()[4 * t + c], expected.statistics.sums()[4 * t + c],
                  TOLERANCE)
          << "type " << t << " sum " << c;
    }
    EXPECT_NEAR(found.out_bias[t], expected.out_bias[t], TOLERANCE);
    EXPECT_NEAR(found.out_std[t], expected.out_std[t], TOLERANCE);
  }
}

void copy_reference(const std::string &name, const std::string &target)
{
  std::filesystem::copy(ROOT + "/" + name, target, std::filesystem::copy_options::recursive);
}

}  // namespace

TEST(Sha1, NumbersOfTheStandard)
{
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1(std::string(1000000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(StatisticsFile, NamesOfDescriptors)
{
  const Json reference = Json::parse(read_file(ROOT + "/hashes.json"));
  ASSERT_GE(reference.at("descriptors").size(), 5u);
  for (const Json &descriptor : reference.at("descriptors")) {
    ModelConfig config = model(descriptor.at("sel"));
    config.rcut = descriptor.at("rcut");
    se_e2_a(config).rcut_smth = descriptor.at("rcut_smth");
    EXPECT_EQ(deepmd_statistics_hash(config), descriptor.at("hash").get<std::string>())
        << descriptor;
  }
  expect_in("sel must be known", message_of([] { deepmd_statistics_hash(model({})); }));
}

TEST(StatisticsFile, ReadsWhatDeepmdWrote)
{
  for (const std::string name : {"/stat.hdf5", "/folder"})
    for (const ModelConfig *config : {&PLAIN, &OVERFLOW}) {
      SCOPED_TRACE(name + " sel " + std::to_string(se_e2_a(*config).sel[0]));
      const auto stored = read_deepmd_statistics(ROOT + name, *config);
      ASSERT_TRUE(stored.has_value());
      const DataStatistics ours = collect(*config);
      expect_same({ours.statistics, ours.energy.bias, ours.energy.deviation}, *stored,
                  config == &OVERFLOW);
    }
}

TEST(StatisticsFile, OtherModelsAndNoFileGiveNothing)
{
  EXPECT_FALSE(read_deepmd_statistics(ROOT + "/none.hdf5", PLAIN));
  EXPECT_FALSE(read_deepmd_statistics(ROOT + "/stat.hdf5", model({60, 50, 61})));
  ModelConfig other = PLAIN;
  other.type_map = {"Al", "Ni", "Cu"};
  EXPECT_FALSE(read_deepmd_statistics(ROOT + "/stat.hdf5", other));
  EXPECT_FALSE(read_deepmd_statistics(ROOT + "/folder", other));
}

TEST(StatisticsFile, WritesTheSameObjects)
{
  const Scratch scratch;
  for (const std::string name : {"ours.hdf5", "ours"}) {
    for (const ModelConfig *config : {&PLAIN, &OVERFLOW}) {
      const DataStatistics found = collect(*config);
      write_deepmd_statistics(scratch / name, *config, found);
      write_deepmd_statistics(scratch / name, *config, found);  // replaces
    }
    for (const ModelConfig *config : {&PLAIN, &OVERFLOW}) {
      const auto again = read_deepmd_statistics(scratch / name, *config);
      ASSERT_TRUE(again.has_value());
      expect_same(*again, *read_deepmd_statistics(ROOT + "/stat.hdf5", *config),
                  config == &OVERFLOW);
    }
  }
  const std::string base = "Al Cu Ni/";
  // strings and shapes: byte for byte in folders
  EXPECT_EQ(read_file(scratch / "ours/Al Cu Ni/observed_type"),
            read_file(ROOT + "/folder/Al Cu Ni/observed_type"));
  for (const std::string name : {"bias_atom_energy", "std_atom_energy"})
    EXPECT_EQ(read_npy(scratch / ("ours/Al Cu Ni/" + name)).shape,
              read_npy(ROOT + "/folder/Al Cu Ni/" + name).shape);
  const auto ours = Hdf5File::open(read_file(scratch / "ours.hdf5"), "ours");
  EXPECT_EQ(ours.read_array(base + "bias_atom_energy").shape, (std::vector<std::int64_t>{3, 1}));
  EXPECT_TRUE(ours.has(base + "observed_type"));
}

TEST(StatisticsFile, FilesOfDeepmdAreCompletedNotReplaced)
{
  const Scratch scratch;
  for (const std::string name : {"stat.hdf5", "folder"}) {
    copy_reference(name, scratch / name);
    const ModelConfig other = model({61, 51, 61});
    write_deepmd_statistics(scratch / name, other, collect(other));
    for (const ModelConfig *config : {&PLAIN, &OVERFLOW, &other})
      EXPECT_TRUE(read_deepmd_statistics(scratch / name, *config))
          << name << se_e2_a(*config).sel[0];
  }
}

TEST(StatisticsFile, AnInterruptedFileCountsAsNone)
{
  const Scratch scratch;
  copy_reference("folder", scratch / "a");
  std::filesystem::remove(scratch / "a/Al Cu Ni/std_atom_energy");
  EXPECT_FALSE(read_deepmd_statistics(scratch / "a", PLAIN));
  copy_reference("folder", scratch / "b");
  write_file(scratch / "b/Al Cu Ni/__deepmd_output_stat_transaction__", "");
  EXPECT_FALSE(read_deepmd_statistics(scratch / "b", PLAIN));
  copy_reference("folder", scratch / "c");
  std::filesystem::remove(scratch / ("c/Al Cu Ni/" + deepmd_statistics_hash(PLAIN) + "/a_2"));
  EXPECT_FALSE(read_deepmd_statistics(scratch / "c", PLAIN));
  EXPECT_TRUE(read_deepmd_statistics(scratch / "c", OVERFLOW));
}

TEST(StatisticsFile, DamagedFilesAreNamed)
{
  const Scratch scratch;
  expect_in("stat.hdf5", message_of([&] {
              read_deepmd_statistics(scratch.with("stat.hdf5", "no file of HDF5"), PLAIN);
            }));
  copy_reference("folder", scratch / "f");
  const std::string radial = scratch / ("f/Al Cu Ni/" + deepmd_statistics_hash(PLAIN) + "/r_0");
  const auto message = [&](const std::vector<double> &values) {
    write_file(radial, npy_bytes({static_cast<std::int64_t>(values.size())}, values));
    return message_of([&] { read_deepmd_statistics(scratch / "f", PLAIN); });
  };
  expect_in("must hold 3 finite numbers, found 2", message({1.0, 2.0}));
  expect_in("not all finite", message({170.0, std::numeric_limits<double>::quiet_NaN(), 0.0}));
  expect_in("do not belong to sel", message({171.0, 1.0, 1.0}));
  write_file(radial, "x");
  expect_in("r_0", message_of([&] { read_deepmd_statistics(scratch / "f", PLAIN); }));
}

// DeePMD-kit computes nothing again, and its model has our numbers: it packs no data, and writes the same davg.
TEST(StatisticsFile, DeepmdTrainsFromOurs)
{
  const char *dp = std::getenv("DPTRAIN_DEEPMD");
  if (!dp) GTEST_SKIP() << "set DPTRAIN_DEEPMD to the dp of DeePMD-kit";
  const Scratch scratch;
  Json systems = Json::array();
  for (const auto &name : SYSTEMS)
    systems.push_back(std::string(DPTRAIN_TEST_DATA) + "/statistics/" + name);
  for (const std::string name : {"ours.hdf5", "ours"}) {
    write_deepmd_statistics(scratch / name, PLAIN, collect(PLAIN));
    const Json input{{"model",
                      {{"type_map", PLAIN.type_map},
                       {"descriptor",
                        {{"type", "se_e2_a"},
                         {"sel", se_e2_a(PLAIN).sel},
                         {"rcut", 4},
                         {"rcut_smth", 0.5},
                         {"neuron", {4, 8}}}},
                       {"fitting_net", {{"neuron", {8}}}}}},
                     {"learning_rate",
                      {{"type", "exp"}, {"start_lr", 1e-3}, {"stop_lr", 1e-4}, {"decay_steps", 1}}},
                     {"loss", {{"type", "ener"}}},
                     {"training",
                      {{"training_data", {{"systems", systems}, {"batch_size", 1}}},
                       {"numb_steps", 2},
                       {"save_freq", 2},
                       {"stat_file", scratch / name},
                       {"stat_file_mode", "read"}}}};
    write_file(scratch / "input.json", input.dump());
    const std::string command = "cd '" + scratch.path() + "' && OMP_NUM_THREADS=1 '" + dp +
                                "' --pt train input.json --skip-neighbor-stat > log 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << read_file(scratch / "log");
    const std::string log = read_file(scratch / "log");
    expect_in("Load stats from", log);
    EXPECT_EQ(log.find("Packing data for statistics"), std::string::npos) << log;
  }
}

}  // namespace dptrain::test
