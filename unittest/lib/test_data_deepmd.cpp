// Systems in DeePMD-kit's npy format: what is read, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"
#include "support/data_files.h"

namespace dptrain {
namespace {

namespace fs = std::filesystem;
using test::cube;
using test::expect_in;
using test::message_of;
using test::npy_rows_of;
using test::numpy_file;
using test::swapped;
using test::WaterSystem;

using Numbers = std::vector<double>;

TEST(DeepmdData, ReadsFramesWithTheirLabels)
{
  const WaterSystem files;
  const auto system = files.open();
  EXPECT_EQ(system->name(), files.path());
  ASSERT_EQ(system->num_frames(), 2);
  EXPECT_EQ(system->natoms(1), 2);
  EXPECT_TRUE(system->same_atoms());
  const WholeFrame frame = system->read(1);
  EXPECT_EQ(frame.step, 1);
  EXPECT_TRUE(frame.periodic);
  EXPECT_EQ(frame.type, (std::vector<int>{0, 1}));
  EXPECT_EQ(frame.coord, (Numbers{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(Numbers(frame.box.begin(), frame.box.end()), cube);
  EXPECT_EQ(frame.label.energy, -2.0);
  EXPECT_EQ(frame.label.force, (Numbers{7, 8, 9, 10, 11, 12}));
  ASSERT_TRUE(frame.label.virial);
  EXPECT_EQ((*frame.label.virial)[0], 9.0);
  EXPECT_TRUE(frame.label.atom_energy.empty() && frame.label.drdq.empty());
}

TEST(DeepmdData, OtherShapesOfTheSameNumbers)
{
  const WaterSystem files;
  files.with("set.000/energy.npy", numpy_file<double>("<f8", "(2, 1)", {-3, -4}));
  files.with("set.000/coord.npy",
             numpy_file<double>("<f8", "(2, 2, 3)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  // by columns, in single precision, in the other byte order
  files.with("set.000/force.npy",
             numpy_file<float>(">f4", "(2, 6)",
                               swapped<float>({1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12}), true));
  const WholeFrame frame = files.open()->read(1);
  EXPECT_EQ(frame.label.energy, -4.0);
  EXPECT_EQ(frame.coord, (Numbers{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(frame.label.force, (Numbers{7, 8, 9, 10, 11, 12}));
}

TEST(DeepmdData, OneDimensionalArraysAreOneFrame)
{
  const WaterSystem files;
  files.with("set.000/coord.npy", numpy_file<double>("<f8", "(6,)", {0, 1, 2, 3, 4, 5}));
  files.with("set.000/box.npy", numpy_file<double>("<f8", "(9,)", cube));
  files.with("set.000/energy.npy", numpy_file<double>("<f8", "()", {-7}));
  files.with("set.000/force.npy", numpy_file<double>("<f8", "(6,)", {1, 2, 3, 4, 5, 6}));
  files.remove("set.000/virial.npy");
  const auto system = files.open();
  EXPECT_EQ(system->num_frames(), 1);
  EXPECT_EQ(system->read(0).label.energy, -7.0);
  EXPECT_FALSE(system->read(0).label.virial);
}

TEST(DeepmdData, FurtherLabels)
{
  const WaterSystem files;
  files.with("set.000/atomic_ener.npy", npy_rows_of(2, 2, {1, 2, 3, 4}));
  files.with("set.000/atom_pref.npy", npy_rows_of(2, 2, {5, 6, 7, 8}));
  files.with("set.000/atom_ener_coeff.npy", npy_rows_of(2, 2, {1, 0, 0, 1}));
  Numbers drdq;
  for (int i = 0; i < 24; ++i) drdq.push_back(i);
  files.with("set.000/drdq.npy", npy_rows_of(2, 12, drdq));
  files.with("set.000/numb_copy.npy", npy_rows_of(1, 1, {1}));
  files.with("set.000/notes.txt", "not an array");
  EXPECT_TRUE(files.open()->read(1).label.drdq.empty());
  DataOptions options;
  options.type_map = {"O", "H"};
  options.numb_generalized_coord = 2;
  const Label label = open_system(files.path(), options)->read(1).label;
  EXPECT_EQ(label.atom_energy, (Numbers{3, 4}));
  EXPECT_EQ(label.atom_pref, (Numbers{7, 8}));
  EXPECT_EQ(label.atom_ener_coeff, (Numbers{0, 1}));
  EXPECT_EQ(label.drdq, Numbers(drdq.begin() + 12, drdq.end()));
}

TEST(DeepmdData, FrameParametersOfAModelThatTakesThem)
{
  const WaterSystem files;
  files.with("set.000/fparam.npy", npy_rows_of(2, 1, {1, 2}));
  EXPECT_EQ(files.open()->num_frames(), 2);  // other models pass them over, as in DeePMD-kit
  DataOptions options;
  options.type_map = {"O", "H"};
  options.num_fparam = 1;
  const std::string text = message_of([&] { open_system(files.path(), options); });
  EXPECT_NE(text.find("set.000/fparam.npy: frame parameters of a data set are not read"),
            std::string::npos)
      << text;
}

TEST(DeepmdData, SetsInOrderAndLabelsThatSomeLack)
{
  const WaterSystem files;
  fs::create_directories(files.path() + "/set.001");
  files.with("set.001/coord.npy", npy_rows_of(1, 6, {20, 21, 22, 23, 24, 25}));
  files.with("set.001/box.npy", npy_rows_of(1, 9, cube));
  files.with("set.002", "a file, not a set");
  const auto system = files.open();
  ASSERT_EQ(system->num_frames(), 3);
  EXPECT_TRUE(system->read(1).label.energy);
  const WholeFrame last = system->read(2);
  EXPECT_EQ(last.coord[0], 20.0);
  EXPECT_EQ(last.step, 2);
  EXPECT_FALSE(last.label.energy);
  EXPECT_TRUE(last.label.force.empty());
  expect_in("frame 3 of 3", message_of([&] { system->read(3); }));
  expect_in("frame -1 of 3", message_of([&] { system->read(-1); }));
}

TEST(DeepmdData, OtherPrefixOfSets)
{
  const WaterSystem files;
  fs::rename(files.path() + "/set.000", files.path() + "/part.000");
  expect_in("no folder set.*", files.error());
  DataOptions options;
  options.type_map = {"O", "H"};
  options.set_prefix = "part";
  EXPECT_EQ(open_system(files.path(), options)->num_frames(), 2);
}

TEST(DeepmdData, TypesAreMappedByName)
{
  const WaterSystem files;
  EXPECT_EQ(files.open({"X", "H", "O"})->read(0).type, (std::vector<int>{2, 1}));
  const std::string message = message_of([&] { files.open({"O", "Na"}); });
  expect_in("element H is not in the type map (O Na)", message);
  expect_in("type_map.raw", message);
  // a name that no atom has does not matter
  files.with("type_map.raw", "O H Uuo");
  EXPECT_EQ(files.open()->num_frames(), 2);
  files.remove("type_map.raw");
  EXPECT_EQ(files.open({"A", "B"})->read(0).type, (std::vector<int>{0, 1}));
  expect_in("only the types 0 to 0 of the model", message_of([&] { files.open({"A"}); }));
}

TEST(DeepmdData, NoCell)
{
  const WaterSystem files;
  files.with("nopbc", "");
  files.with("set.000/box.npy", "not read");
  EXPECT_FALSE(files.open()->read(0).periodic);
  files.remove("set.000/box.npy");
  EXPECT_FALSE(files.open()->read(0).periodic);
}

TEST(DeepmdData, LeftHandedCellsAreCells)
{
  const WaterSystem files;
  files.with("set.000/box.npy",
             npy_rows_of(2, 9, {0, 5, 0, 5, 0, 0, 0, 0, 5, 0, 5, 0, 5, 0, 0, 0, 0, 5}));
  EXPECT_EQ(files.open()->read(0).box[1], 5.0);
}

TEST(MixedTypes, DropAtomsThatAreNone)
{
  const WaterSystem files;
  files.with("set.000/real_atom_types.npy",
             numpy_file<std::int32_t>("<i4", "(2, 2)", {1, 0, -1, 1}));
  const double nan = std::nan("");
  files.with("set.000/force.npy", npy_rows_of(2, 6, {1, 2, 3, 4, 5, 6, nan, nan, nan, 10, 11, 12}));
  files.with("set.000/atom_ener.npy", npy_rows_of(2, 2, {1, 2, nan, 4}));
  const auto system = files.open({"H", "O"});
  EXPECT_FALSE(system->same_atoms());
  EXPECT_EQ(system->natoms(0), 2);
  EXPECT_EQ(system->natoms(1), 1);
  EXPECT_EQ(system->read(0).type, (std::vector<int>{0, 1}));
  const WholeFrame frame = system->read(1);
  EXPECT_EQ(frame.type, (std::vector<int>{0}));
  EXPECT_EQ(frame.coord, (Numbers{13, 14, 15}));
  EXPECT_EQ(frame.label.force, (Numbers{10, 11, 12}));
  EXPECT_EQ(frame.label.atom_energy, (Numbers{4}));
  // an element that the model lacks matters in the frame that has it
  const auto hydrogen = files.open({"H"});
  EXPECT_EQ(hydrogen->read(1).type.size(), 1u);
  expect_in("element O is not in the type map", message_of([&] { hydrogen->read(0); }));
}

TEST(MixedTypes, WhatIsWrongIsNamed)
{
  const WaterSystem files;
  const auto with_types = [&](const std::vector<std::int32_t> &types) {
    files.with("set.000/real_atom_types.npy", numpy_file("<i4", "(2, 2)", types));
    return files.error();
  };
  expect_in("frame 1, atom 0: found type 2", with_types({0, 1, 2, 1}));
  expect_in("frame 0, atom 1: found type -2", with_types({0, -2, 0, 1}));
  expect_in("frame 1 has no atom", with_types({0, 1, -1, -1}));
  files.with("set.000/real_atom_types.npy", npy_rows_of(2, 2, {0, 0.5, 0, 1}));
  expect_in("found type 0.5", files.error());
  files.with("set.000/real_atom_types.npy", npy_rows_of(2, 3, {0, 1, 1, 0, 1, 1}));
  expect_in("real_atom_types.npy: shape (2, 3), expected (2, 2)", files.error());
  files.with("set.000/real_atom_types.npy", npy_rows_of(2, 2, {0, 1, 0, 1}));
  files.remove("type_map.raw");
  expect_in("type_map.raw: missing", files.error());
  files.with("type_map.raw", "O H");
  fs::create_directories(files.path() + "/set.001");
  files.with("set.001/coord.npy", npy_rows_of(1, 6, {20, 21, 22, 23, 24, 25}));
  expect_in("all sets must have mixed types, or none", files.error());
}

/// A file of the system, its new content, and what the message must say.
struct Damage {
  std::string file, content, expected;
};

class DamagedSystem : public testing::TestWithParam<Damage> {};

TEST_P(DamagedSystem, IsNamed)
{
  const WaterSystem files;
  files.with(GetParam().file, GetParam().content);
  const std::string message = files.error();
  expect_in(files.path(), message);
  expect_in(GetParam().expected, message);
}

const double inf = std::numeric_limits<double>::infinity();
const Numbers zeros(18, 0.0);

INSTANTIATE_TEST_SUITE_P(
    All, DamagedSystem,
    testing::Values(
        Damage{"type.raw", "", "names no atom"}, Damage{"type.raw", "0 x", "found 'x'"},
        Damage{"type.raw", "0 1.5", "found '1.5', expected integers"},
        Damage{"type.raw", "0 99999999999999999999", "expected integers"},
        Damage{"type.raw", "0 -1", "found type -1"}, Damage{"type.raw", "0 2", "found type 2"},
        Damage{"type.raw", std::string("\0\x93\xFF garbage", 11), "expected integers"},
        Damage{"type.raw", "0 1 1", "coord.npy: shape (2, 6), expected (2, 9)"},
        Damage{"type_map.raw", "", "names no element"},
        Damage{"type_map.raw", "O", "types 0 to 0 of type_map.raw"},
        Damage{"type_map.raw", "O Pu", "element Pu is not in the type map"},
        Damage{"set.000/coord.npy", "garbage", "not a NumPy"},
        Damage{"set.000/coord.npy", numpy_file<double>("<f8", "(99999999999, 6)", {1}),
               "truncated"},
        Damage{"set.000/coord.npy", npy_rows_of(2, 3, {1, 2, 3, 4, 5, 6}), "expected (2, 6)"},
        Damage{"set.000/coord.npy", npy_rows_of(0, 6, {}), "box.npy: shape (2, 9)"},
        Damage{"set.000/coord.npy",
               npy_rows_of(2, 6, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, std::nan(""), 11}),
               "coord.npy: frame 1: atom 1, component 1 is nan"},
        Damage{"set.000/box.npy", npy_rows_of(2, 9, zeros), "box.npy: frame 0: the cell"},
        Damage{"set.000/box.npy", npy_rows_of(1, 9, cube), "expected (2, 9)"},
        Damage{"set.000/box.npy", npy_rows_of(2, 3, {5, 5, 5, 5, 5, 5}), "expected (2, 9)"},
        Damage{"set.000/box.npy",
               npy_rows_of(2, 9, {5, 0, 0, 0, 5, 0, 5, 5, 0, 5, 0, 0, 0, 5, 0, 0, 0, 5}),
               "has no volume"},
        Damage{"set.000/box.npy",
               npy_rows_of(2, 9, {5, 0, 0, 0, inf, 0, 0, 0, 5, 5, 0, 0, 0, 5, 0, 0, 0, 5}),
               "box.npy: frame 0: component 4 is inf"},
        Damage{"set.000/energy.npy", numpy_file<double>("<f8", "(3,)", {1, 2, 3}),
               "energy.npy: shape (3,), expected (2, 1)"},
        Damage{"set.000/energy.npy", numpy_file<double>("<f8", "(2,)", {1, std::nan("")}),
               "energy.npy: frame 1: component 0 is nan"},
        Damage{"set.000/energy.npy", numpy_file<double>("<f8", "(2, 0)", {}), "expected (2, 1)"},
        Damage{"set.000/force.npy", npy_rows_of(2, 6, Numbers(11, 1.0)), "truncated"},
        Damage{"set.000/force.npy", npy_rows_of(3, 6, zeros), "shape (3, 6), expected (2, 6)"},
        Damage{"set.000/force.npy", npy_rows_of(2, 6, {1, 2, 3, 4, 5, -inf, 1, 2, 3, 4, 5, 6}),
               "force.npy: frame 0: atom 1, component 2 is -inf"},
        Damage{"set.000/virial.npy", npy_rows_of(2, 6, Numbers(12, 1.0)), "expected (2, 9)"},
        Damage{"set.000/atom_ener.npy", npy_rows_of(2, 1, {1, 2}),
               "2 atoms as in type.raw with 1 numbers each"}));

TEST(DeepmdData, MissingFilesAndFoldersInTheirPlace)
{
  for (const char *file : {"type.raw", "set.000/coord.npy", "set.000/box.npy"}) {
    const WaterSystem files;
    files.remove(file);
    expect_in(std::string(file) + ": missing", files.error());
    fs::create_directories(files.path() + "/" + file);
    expect_in(std::string(file) + "' is a directory, expected a file", files.error());
  }
  const WaterSystem files;
  files.remove("set.000/energy.npy");
  fs::create_symlink("nowhere", files.path() + "/set.000/energy.npy");
  expect_in("energy.npy' does not exist", files.error());
  files.remove("set.000");
  expect_in("no folder set.*", files.error());
  fs::create_directories(files.path() + "/set.000");
  expect_in("coord.npy: missing", files.error());
  DataOptions options;
  expect_in("no such file or folder", message_of([&] { open_system("/no/such/system", options); }));
  expect_in("no such file or folder",
            message_of([&] { open_system("/no/such/file.hdf5#/a", options); }));
}

TEST(DeepmdData, SystemsWithoutFrames)
{
  const WaterSystem files;
  for (const char *label : {"energy", "force", "virial", "box"})
    files.remove(std::string("set.000/") + label + ".npy");
  files.with("nopbc", "");
  files.with("set.000/coord.npy", npy_rows_of(0, 6, {}));
  expect_in("the system has no frame", files.error());
}

TEST(DeepmdData, FilesThatMayNotBeRead)
{
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const WaterSystem files;
  fs::permissions(files.path() + "/set.000/force.npy", fs::perms::none);
  expect_in("Permission denied", files.error());
  fs::permissions(files.path() + "/set.000", fs::perms::none);
  expect_in("Permission denied", files.error());
  fs::permissions(files.path() + "/set.000", fs::perms::owner_all);
}

TEST(DeepmdData, FilesThatShrinkWhileTheyAreUsed)
{
  const WaterSystem files;
  const auto system = files.open();
  fs::resize_file(files.path() + "/set.000/force.npy", 150);
  expect_in("force.npy: truncated since it was opened", message_of([&] { system->read(1); }));
}

TEST(DeepmdData, MoreSystemsThanOpenFiles)
{
  // each keeps 5 files open until the places are used up; 300 systems would be 1500
  const WaterSystem files;
  Systems systems;
  for (int k = 0; k < 300; ++k) systems.push_back(files.open());
  for (const auto &system : systems) EXPECT_EQ(system->read(1).label.energy, -2.0);
  std::size_t open = 0;
  for ([[maybe_unused]] const auto &item : fs::directory_iterator("/proc/self/fd")) ++open;
  EXPECT_LT(open, 400u);
}

}  // namespace
}  // namespace dptrain
