// Data sets in DeePMD-kit's npy format: exact round trips, one system per kind of frame, interruption.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>

#include "data/npy.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "support/data_files.h"
#include "support/npy_array.h"
#include "support/whole_frame.h"

namespace dptrain {
namespace {

namespace fs = std::filesystem;
using test::expect_in;
using test::message_of;
using test::NpyArray;
using test::numpy_file;
using test::random_whole_frame;
using test::read_npy;
using test::same_content;
using test::Scratch;

const std::vector<std::string> names{"O", "H", "Na"};

TEST(Npy, ReadsTheTypesOfNumpy)
{
  const Scratch scratch;
  const auto read = [&](const std::string &bytes) {
    return read_npy(scratch.with("a.npy", bytes));
  };
  const std::vector<double> expected{1, 2, 3, 4, 5, 6};
  const NpyArray array = read(numpy_file<double>("<f8", "(2, 3)", {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(array.values, expected);
  EXPECT_EQ(read(numpy_file<float>("<f4", "(6,)", {1, 2, 3, 4, 5, 6})).values, expected);
  EXPECT_EQ(read(numpy_file<std::int32_t>("<i4", "(6,)", {1, 2, 3, 4, 5, 6})).values, expected);
  EXPECT_EQ(read(numpy_file<std::int64_t>("<i8", "(6,)", {1, 2, 3, 4, 5, 6})).values, expected);
  EXPECT_EQ(read(numpy_file<double>("<f8", "(2, 3)", {1, 4, 2, 5, 3, 6}, true)).values, expected);
  EXPECT_EQ(read(numpy_file<double>("<f8", "()", {7})).values, std::vector<double>{7});
}

TEST(Npy, RefusesOtherFiles)
{
  const Scratch scratch;
  const auto message = [&](const std::string &bytes) {
    return message_of([&] { read_npy(scratch.with("a.npy", bytes)); });
  };
  expect_in("a.npy: not a NumPy", message("hello"));
  expect_in("type '|O'", message(numpy_file<double>("|O", "(1,)", {1})));
  expect_in("type '<f16'", message(numpy_file<double>("<f16", "(1,)", {1})));
  expect_in("truncated", message(numpy_file<double>("<f8", "(3,)", {1, 2})));
  expect_in("truncated", message(numpy_file<double>("<f8", "(99999999999, 99999999999)", {1})));
  expect_in("truncated", message(numpy_file<double>("<f8", "(1,)", {1}).substr(0, 50)));
  expect_in("does not exist", message_of([&] { read_npy(scratch / "none.npy"); }));
}

// Of a cut-out: in a system of its own, with the weights of its forces where DeePMD-kit looks for them.
TEST(Dataset, WeightsOfForcesAreAtomPref)
{
  const Scratch scratch;
  WholeFrame whole = random_whole_frame(4, 2), cut = whole;
  cut.label.energy.reset();
  cut.label.virial.reset();
  cut.label.force_weight = {1.0, 0.0, 0.5, 0.25};  // types 0 1 0 1
  append_to_dataset(scratch.path(), names, whole);
  append_to_dataset(scratch.path(), names, cut);
  append_to_dataset(scratch.path(), names, cut);
  EXPECT_EQ(list_folder(scratch.path()),
            (std::vector<std::string>{"O2H2", "O2H2_noenergy_novirial_weighted"}));
  const auto frames = read_npy_system(scratch / "O2H2_noenergy_novirial_weighted", names);
  ASSERT_EQ(frames.size(), 2u);
  const Label &label = frames[1].label;
  EXPECT_EQ(label.atom_pref, (std::vector<double>{1.0, 0.5, 0.0, 0.25}));
  EXPECT_FALSE(label.energy || label.virial);
  EXPECT_EQ(label.force.size(), 12u);
  EXPECT_EQ(std::vector<double>(label.force.begin() + 3, label.force.begin() + 6),
            std::vector<double>(cut.label.force.begin() + 6, cut.label.force.begin() + 9));
  EXPECT_TRUE(read_npy_system(scratch / "O2H2", names)[0].label.atom_pref.empty());
}

// In a system of its own.
TEST(Dataset, KeepsTotalCharges)
{
  const Scratch scratch;
  WholeFrame charged = random_whole_frame(2, 1);
  charged.charge = -1.5;
  append_to_dataset(scratch.path(), names, random_whole_frame(2, 1));
  append_to_dataset(scratch.path(), names, charged);
  EXPECT_EQ(list_folder(scratch.path()), (std::vector<std::string>{"O2", "O2_charge"}));
  EXPECT_EQ(read_npy_system(scratch / "O2_charge", names)[0].charge, -1.5);
  EXPECT_FALSE(read_npy_system(scratch / "O2", names)[0].charge);
}

TEST(Dataset, KeepsWeightsOfFrames)
{
  const Scratch scratch;
  WholeFrame heavy = random_whole_frame(2, 1);
  heavy.label.frame_weight = 4.0;
  append_to_dataset(scratch.path(), names, random_whole_frame(2, 1));
  append_to_dataset(scratch.path(), names, heavy);
  EXPECT_EQ(read_npy_system(scratch / "O2_frame_weight", names)[0].label.frame_weight, 4.0);
  EXPECT_EQ(read_npy_system(scratch / "O2", names)[0].label.frame_weight, 1.0);
}

TEST(Dataset, GivesBackTheFrames)
{
  const Scratch scratch;
  WholeFrame first = random_whole_frame(5, 1, 1), second = random_whole_frame(5, 1, 2);
  first.type = {0, 0, 1, 1, 1};
  second.type = first.type;
  append_to_dataset(scratch.path(), names, first);
  append_to_dataset(scratch.path(), names, second);
  EXPECT_EQ(list_folder(scratch.path()), std::vector<std::string>{"O2H3"});
  EXPECT_EQ(read_file(scratch / "O2H3/type.raw"), "0\n0\n1\n1\n1\n");
  EXPECT_EQ(read_file(scratch / "O2H3/type_map.raw"), "O\nH\nNa\n");
  const auto frames = read_npy_system(scratch / "O2H3", names);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(same_content(frames[0], first));
  EXPECT_TRUE(same_content(frames[1], second));
  EXPECT_EQ(frames[1].step, 1);
  // shapes as DeePMD-kit has them
  const std::string set = scratch / "O2H3/set.000/";
  EXPECT_EQ(read_npy(set + "coord.npy").shape, (std::vector<std::int64_t>{2, 15}));
  EXPECT_EQ(read_npy(set + "box.npy").shape, (std::vector<std::int64_t>{2, 9}));
  EXPECT_EQ(read_npy(set + "energy.npy").shape, (std::vector<std::int64_t>{2}));
}

TEST(Dataset, SortsAtomsByType)
{
  const Scratch scratch;
  WholeFrame frame = random_whole_frame(3, 1);
  frame.type = {2, 0, 2};
  append_to_dataset(scratch.path(), names, frame);
  const auto read = read_npy_system(scratch / "O1Na2", names).at(0);
  EXPECT_EQ(read.type, (std::vector<int>{0, 2, 2}));
  const int order[] = {1, 0, 2};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(read.coord[3 * i + k], frame.coord[3 * order[i] + k]);
      EXPECT_EQ(read.label.force[3 * i + k], frame.label.force[3 * order[i] + k]);
    }
  // the same atoms in another order belong to the same system
  frame.type = {0, 2, 2};
  append_to_dataset(scratch.path(), names, frame);
  EXPECT_EQ(read_npy_system(scratch / "O1Na2", names).size(), 2u);
}

TEST(Dataset, KeepsKindsOfFramesApart)
{
  const Scratch scratch;
  const WholeFrame full = random_whole_frame(4);
  WholeFrame no_virial = full, open = full, coordinates = full;
  no_virial.label.virial.reset();
  open.periodic = false;
  open.label.virial.reset();
  coordinates.label = Label();
  for (const auto &frame : {full, no_virial, open, coordinates, full})
    append_to_dataset(scratch.path(), names, frame);
  EXPECT_EQ(list_folder(scratch.path()),
            (std::vector<std::string>{"O2H2", "O2H2_noenergy_noforce_novirial",
                                      "O2H2_nopbc_novirial", "O2H2_novirial"}));
  EXPECT_EQ(read_npy_system(scratch / "O2H2", names).size(), 2u);
  EXPECT_TRUE(fs::exists(scratch / "O2H2_nopbc_novirial/nopbc"));
  const auto read = read_npy_system(scratch / "O2H2_nopbc_novirial", names).at(0);
  EXPECT_FALSE(read.periodic);
  EXPECT_FALSE(read.label.virial);
  EXPECT_TRUE(
      read_npy_system(scratch / "O2H2_noenergy_noforce_novirial", names).at(0).label.force.empty());
}

TEST(Dataset, StartsANewSetWhenOneIsFull)
{
  const Scratch scratch;
  const WholeFrame frame = random_whole_frame(1, 1);
  append_to_dataset(scratch.path(), names, frame);
  const std::string set = scratch / "O1/set.000/";
  // the first set gets 1000 frames at once
  for (const auto &[name, width] : std::vector<std::pair<std::string, int>>{
           {"box", 9}, {"coord", 3}, {"energy", 1}, {"force", 3}, {"virial", 9}}) {
    std::vector<std::int64_t> shape{1000};
    if (width > 1) shape.push_back(width);
    write_file(set + name + ".npy", npy_bytes(shape, std::vector<double>(1000 * width, 0.5)));
  }
  std::vector<double> cells;
  for (int k = 0; k < 1000; ++k)
    for (int i = 0; i < 9; ++i) cells.push_back(i % 4 == 0 ? 5.0 : 0.0);
  write_file(set + "box.npy", npy_bytes({1000, 9}, cells));
  append_to_dataset(scratch.path(), names, frame);
  append_to_dataset(scratch.path(), names, frame);
  const auto frames = read_npy_system(scratch / "O1", names);
  ASSERT_EQ(frames.size(), 1002u);
  EXPECT_EQ(frames[999].label.energy, 0.5);
  EXPECT_TRUE(same_content(frames[1001], frame));
  EXPECT_EQ(read_npy(scratch / "O1/set.001/energy.npy").values.size(), 2u);
}

TEST(Dataset, LeavesSetsOfOthersAsTheyAre)
{
  const Scratch scratch;
  fs::create_directories(scratch / "O1/set.000");
  scratch.with("O1/type.raw", "0 \n");
  scratch.with("O1/type_map.raw", "O H Na");
  const std::string coord = numpy_file<float>("<f4", "(1, 3)", {1, 2, 3});
  const std::string box = numpy_file<float>("<f4", "(1, 9)", {5, 0, 0, 0, 5, 0, 0, 0, 5});
  scratch.with("O1/set.000/coord.npy", coord);
  scratch.with("O1/set.000/box.npy", box);
  append_to_dataset(scratch.path(), names, random_whole_frame(1, 1));
  EXPECT_EQ(read_file(scratch / "O1/set.000/coord.npy"), coord);
  const auto frames = read_npy_system(scratch / "O1", names);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].coord, (std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(frames[0].label.energy);
  EXPECT_TRUE(frames[1].label.energy);
}

TEST(Dataset, RecoversFromAnInterruptedAppend)
{
  const Scratch scratch;
  const WholeFrame frame = random_whole_frame(2);
  for (int k = 0; k < 2; ++k) append_to_dataset(scratch.path(), names, frame);
  // as if the next append had stopped after one array, and within another
  const std::string set = scratch / "O1H1/set.000/";
  append_npy_row(set + "box.npy", 2, std::vector<double>(9, 7.0));
  write_file(set + "coord.npy", read_file(set + "coord.npy") + "garbage");
  const WholeFrame next = random_whole_frame(2, 2, 9);
  append_to_dataset(scratch.path(), names, next);
  const auto frames = read_npy_system(scratch / "O1H1", names);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_TRUE(same_content(frames[1], frame));
  EXPECT_TRUE(same_content(frames[2], next));
}

TEST(Dataset, MapsTypesByName)
{
  const Scratch scratch;
  WholeFrame frame = random_whole_frame(3, 1);
  frame.type = {0, 1, 1};
  append_to_dataset(scratch.path(), {"H", "O"}, frame);
  EXPECT_EQ(read_npy_system(scratch / "H1O2", names).at(0).type, (std::vector<int>{1, 0, 0}));
  expect_in("element H is not in the type map (O Na)", message_of([&] {
              read_npy_system(scratch / "H1O2", {"O", "Na"});
            }));
  fs::remove(scratch / "H1O2/type_map.raw");
  EXPECT_EQ(read_npy_system(scratch / "H1O2", names).at(0).type, (std::vector<int>{0, 1, 1}));
  expect_in("found type 1", message_of([&] { read_npy_system(scratch / "H1O2", {"O"}); }));
}

TEST(Dataset, NamesWhatIsWrong)
{
  const Scratch scratch;
  const auto message = [&] { return message_of([&] { read_npy_system(scratch / "O1", names); }); };
  expect_in("no such file or folder", message());
  fs::create_directories(scratch / "O1");
  expect_in("type.raw: missing", message());
  scratch.with("O1/type.raw", "0 x");
  expect_in("found 'x', expected integers", message());
  scratch.with("O1/type.raw", "");
  expect_in("names no atom", message());
  scratch.with("O1/type.raw", "0");
  expect_in("no folder set.*", message());
  fs::create_directories(scratch / "O1/set.000");
  expect_in("coord.npy: missing", message());
  write_file(scratch / "O1/set.000/coord.npy", npy_bytes({1, 4}, {1, 2, 3, 4}));
  expect_in("box.npy: missing", message());
  scratch.with("O1/nopbc", "");
  expect_in("coord.npy: shape (1, 4), expected (1, 3)", message());
  write_file(scratch / "O1/set.000/coord.npy", npy_bytes({1, 3}, {1, 2, 3}));
  EXPECT_EQ(read_npy_system(scratch / "O1", names).size(), 1u);
  write_file(scratch / "O1/set.000/energy.npy", npy_bytes({2}, {1, 2}));
  expect_in("energy.npy: shape (2,), expected (1, 1)", message());
}

TEST(Dataset, RefusesToMixSystems)
{
  const Scratch scratch;
  append_to_dataset(scratch.path(), {"O", "H"}, random_whole_frame(2));
  expect_in("other atoms or types",
            message_of([&] { append_to_dataset(scratch.path(), names, random_whole_frame(2)); }));
  WholeFrame frame = random_whole_frame(2);
  frame.type[0] = 5;
  expect_in("atom type 5", message_of([&] { append_to_dataset(scratch.path(), names, frame); }));
  expect_in("without atoms",
            message_of([&] { append_to_dataset(scratch.path(), names, WholeFrame()); }));
  frame = random_whole_frame(2);
  frame.coord.pop_back();
  expect_in("coordinates", message_of([&] { append_to_dataset(scratch.path(), names, frame); }));
  scratch.with("file", "");
  expect_in("cannot create the folder",
            message_of([&] { append_to_dataset(scratch / "file", names, random_whole_frame(2)); }));
}

TEST(Dataset, ReadsSystemsOfDeepmd)
{
  const fs::path folder = fs::path(DPTRAIN_TEST_DATA) / "statistics" / "all_types";
  ASSERT_TRUE(fs::is_directory(folder));
  std::vector<std::string> elements;
  std::string name;
  for (const char c : read_file((folder / "type_map.raw").string()) + "\n")
    if (!std::isspace(static_cast<unsigned char>(c)))
      name += c;
    else if (!name.empty())
      elements.push_back(std::exchange(name, ""));
  const auto frames = read_npy_system(folder.string(), elements);
  const auto coord = read_npy((folder / "set.000/coord.npy").string());
  ASSERT_EQ(std::int64_t(frames.size()), coord.shape.at(0));
  EXPECT_EQ(frames[0].coord.size(), 3 * frames[0].type.size());
  EXPECT_EQ(frames.back().coord.back(), coord.values.back());
  EXPECT_TRUE(frames[0].label.energy);
}

}  // namespace
}  // namespace dptrain
