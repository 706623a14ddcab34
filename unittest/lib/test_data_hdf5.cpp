// Systems in DeePMD-kit's HDF5 format.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"
#include "support/hdf5_system.h"

namespace dptrain {
namespace {

using test::cube;
using test::expect_in;
using test::Hdf5Systems;
using test::message_of;
using test::Scratch;

using Numbers = std::vector<double>;

std::shared_ptr<const DataSystem> open(const std::string &path)
{
  DataOptions options;
  options.type_map = {"H", "O"};
  return open_system(path, options);
}

TEST(Hdf5Data, ReadsSystemsOfAllGroups)
{
  const Scratch scratch;
  const std::string path = scratch / "a.hdf5";
  {
    Hdf5Systems file(path);
    file.system("/");
    file.group("/deep");
    file.system("/deep/H1O1", false);
  }
  for (const std::string &name : {path, path + "#/", path + "#/deep/H1O1", path + "#deep/H1O1/"}) {
    SCOPED_TRACE(name);
    const auto system = open(name);
    EXPECT_EQ(system->name(), name);
    ASSERT_EQ(system->num_frames(), 2);
    EXPECT_TRUE(system->same_atoms());
    const WholeFrame frame = system->read(1);
    EXPECT_EQ(frame.type, (std::vector<int>{1, 0}));
    EXPECT_EQ(frame.coord, (Numbers{10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(frame.box[8], 5.0);
    EXPECT_EQ(frame.label.energy, -2.0);
    EXPECT_EQ(frame.label.force, (Numbers{7, 8, 9, 10, 11, 12}));
    EXPECT_FALSE(frame.label.virial);
  }
  EXPECT_EQ(elements_of({path + "#/deep/H1O1"}), (std::vector<std::string>{"O", "H"}));
}

TEST(Hdf5Data, FindsGroups)
{
  const Scratch scratch;
  const std::string path = scratch / "a.h5";
  {
    Hdf5Systems file(path);
    file.group("/b");
    file.system("/b/two");
    file.system("/b/one");
    file.system("/a");
  }
  EXPECT_EQ(find_systems({path}),
            (std::vector<std::string>{path + "#/a", path + "#/b/one", path + "#/b/two"}));
  EXPECT_EQ(find_systems({path + "#/b/"}),
            (std::vector<std::string>{path + "#/b/one", path + "#/b/two"}));
  EXPECT_EQ(find_systems({"*.h5#/a"}, {}, scratch.path()), std::vector<std::string>{path + "#/a"});
  expect_in("no HDF5 group", message_of([&] { open(path + "#/c"); }));
  expect_in("'/c' (missing", message_of([&] { find_systems({path + "#/c"}); }));
}

TEST(Hdf5Data, OtherLayouts)
{
  const Scratch scratch;
  const std::string path = scratch / "a.hdf5";
  {
    Hdf5Systems file(path);
    file.system("/a");
    file.remove("/a/set.000/force.npy");
    file.numbers("/a/set.000/force.npy", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                 H5T_IEEE_F64BE, 1);  // compressed, frame by frame
    file.remove("/a/set.000/energy.npy");
    file.numbers("/a/set.000/energy.npy", {2}, {3, 4}, H5T_STD_I16LE);
    file.remove("/a/set.000/box.npy");
    file.numbers("/a/nopbc", {1}, {1}, H5T_STD_I8LE);
    file.numbers("/a/set.000/real_atom_types.npy", {2, 2}, {0, 1, -1, 0}, H5T_STD_I32LE);
  }
  const auto system = open(path + "#/a");
  EXPECT_FALSE(system->same_atoms());
  const WholeFrame frame = system->read(1);
  EXPECT_FALSE(frame.periodic);
  EXPECT_EQ(frame.type, (std::vector<int>{1}));
  EXPECT_EQ(frame.label.force, (Numbers{10, 11, 12}));
  EXPECT_EQ(frame.label.energy, 4.0);
}

/// Message when a file, changed by `change`, is opened and read.
std::string error_after(const std::function<void(Hdf5Systems &)> &change)
{
  const Scratch scratch;
  const std::string path = scratch / "a.hdf5";
  {
    Hdf5Systems file(path);
    file.system("/a");
    change(file);
  }
  const std::string message = message_of([&] {
    const auto system = open(path + "#/a");
    for (int k = 0; k < system->num_frames(); ++k) system->read(k);
  });
  expect_in(path, message);
  return message;
}

TEST(Hdf5Data, NamesWhatIsWrong)
{
  const auto replaced = [](const std::string &name, const std::vector<hsize_t> &shape,
                           const Numbers &values) {
    return error_after([&](Hdf5Systems &file) {
      file.remove("/a/" + name);
      if (!shape.empty()) file.numbers("/a/" + name, shape, values);
    });
  };
  expect_in("#/a/set.000/coord.npy: missing", replaced("set.000/coord.npy", {}, {}));
  expect_in("#/a/type.raw: missing", replaced("type.raw", {}, {}));
  expect_in("no folder set.*", replaced("set.000", {}, {}));
  expect_in("type_map.raw: names no element", replaced("type_map.raw", {0}, {}));
  expect_in("#/a/type.raw: names no atom", replaced("type.raw", {0}, {}));
  expect_in("found type 2", replaced("type.raw", {2}, {0, 2}));
  expect_in("found type -1", replaced("type.raw", {2}, {0, -1}));
  expect_in("found '0.5", replaced("type.raw", {2}, {0, 0.5}));
  expect_in("shape (2, 3), expected (2, 6)", replaced("set.000/coord.npy", {2, 3}, Numbers(6)));
  expect_in("energy.npy: shape (3,), expected (2, 1)",
            replaced("set.000/energy.npy", {3}, Numbers(3)));
  expect_in("first extent", replaced("set.000/force.npy", {3, 4}, Numbers(12)));
  expect_in("has no volume", replaced("set.000/box.npy", {2, 9}, Numbers(18)));
  expect_in("frame 0: component 0 is nan",
            replaced("set.000/energy.npy", {2, 1}, Numbers(2, std::nan(""))));
  expect_in("must hold numbers", error_after([](Hdf5Systems &file) {
              file.remove("/a/set.000/force.npy");
              file.strings("/a/set.000/force.npy", {"a", "b"}, true);
            }));
  expect_in("not a data set", error_after([](Hdf5Systems &file) {
              file.remove("/a/set.000/force.npy");
              file.group("/a/set.000/force.npy");
            }));
  // never written, so the file stays small
  expect_in("impossible size", error_after([](Hdf5Systems &file) {
              file.remove("/a/set.000/force.npy");
              file.numbers("/a/set.000/force.npy", {1000000, 1000000}, {});
            }));
}

TEST(Hdf5Data, DamagedFiles)
{
  const Scratch scratch;
  const std::string path = scratch / "a.hdf5";
  {
    Hdf5Systems(path).system("/a");
  }
  const std::string bytes = read_file(path);
  write_file(path, bytes.substr(0, bytes.size() / 2));
  expect_in("not an HDF5 file, damaged, truncated", message_of([&] { open(path + "#/a"); }));
  write_file(path, "binary garbage");
  expect_in("not an HDF5 file", message_of([&] { open(path); }));
  expect_in("not an HDF5 file", message_of([&] { open(path + "#/a"); }));
  expect_in("not an HDF5 file", message_of([&] { find_systems({path}); }));
  expect_in("is a folder; FILE#/GROUP needs", message_of([&] { open(scratch.path() + "#/a"); }));
}

TEST(Hdf5Data, GroupsThatContainThemselves)
{
  const Scratch scratch;
  const std::string path = scratch / "a.hdf5";
  {
    Hdf5Systems(path).system("/a");
  }
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Lcreate_hard(file, "/", file, "/a/root", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_EQ(find_systems({path}), std::vector<std::string>{path + "#/a"});
}

}  // namespace
}  // namespace dptrain
