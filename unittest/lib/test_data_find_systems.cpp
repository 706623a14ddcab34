// Names of systems: folders searched, patterns, order; names of elements.
#include <gtest/gtest.h>

#include "dptrain/data/data_set.h"
#include "support/data_files.h"

namespace dptrain {
namespace {

namespace fs = std::filesystem;
using test::expect_in;
using test::message_of;
using test::npy_rows_of;
using test::numpy_file;
using test::Scratch;
using test::WaterSystem;

using Names = std::vector<std::string>;

/// Folders with a file type.raw, which is what makes a system, and others.
struct Tree : Scratch {
  Tree()
  {
    for (const char *name : {"data/b", "data/a/deep", "data/c", "data/empty", "other"})
      fs::create_directories(*this / name);
    for (const char *name : {"data/b", "data/a", "data/a/deep", "data/c", "other"})
      with(std::string(name) + "/type.raw", "0");
    with("data/x2.extxyz", "");
    with("data/x1.extxyz", "");
  }
  /// Names with the folder in front.
  Names here(const Names &names) const
  {
    Names full;
    for (const auto &name : names) full.push_back(*this / name);
    return full;
  }
};

TEST(FindSystems, SearchesFolders)
{
  const Tree tree;
  EXPECT_EQ(find_systems({tree / "data"}),
            tree.here({"data/a", "data/a/deep", "data/b", "data/c"}));
  EXPECT_EQ(find_systems({tree / "data/a"}), tree.here({"data/a", "data/a/deep"}));
}

TEST(FindSystems, KeepsTheOrderOfTheList)
{
  // sys_probs and lists of batch sizes go by this order
  const Tree tree;
  EXPECT_EQ(find_systems({"other", "data/c", "data/x1.extxyz", "data/b"}, {}, tree.path()),
            tree.here({"other", "data/c", "data/x1.extxyz", "data/b"}));
}

TEST(FindSystems, ExpandsPatterns)
{
  const Tree tree;
  EXPECT_EQ(find_systems({"data/[bc]", "o*r"}, {}, tree.path()),
            tree.here({"data/b", "data/c", "other"}));
  EXPECT_EQ(find_systems({"data/x?.extxyz"}, {}, tree.path()),
            tree.here({"data/x1.extxyz", "data/x2.extxyz"}));
  // a name that exists is itself
  fs::create_directories(tree / "odd[1]");
  tree.with("odd[1]/type.raw", "0");
  EXPECT_EQ(find_systems({"odd[1]"}, {}, tree.path()), tree.here({"odd[1]"}));
}

TEST(FindSystems, SearchesForPatterns)
{
  const Tree tree;
  EXPECT_EQ(find_systems({tree.path()}, {"b", "d*p"}), tree.here({"data/a/deep", "data/b"}));
  EXPECT_EQ(find_systems({tree.path()}, {"data/*"}), tree.here({"data/a", "data/b", "data/c"}));
  EXPECT_EQ(find_systems({tree.path()}, {"a/**/deep", "a/deep"}), tree.here({"data/a/deep"}));
  EXPECT_EQ(find_systems({tree.path()}, {"*.extxyz"}),
            tree.here({"data/x1.extxyz", "data/x2.extxyz"}));
  expect_in("matches rglob_patterns", message_of([&] { find_systems({tree.path()}, {"zzz"}); }));
  expect_in("is no folder", message_of([&] { find_systems({tree / "data/x1.extxyz"}, {"a"}); }));
}

TEST(FindSystems, LinksToFoldersAreNotFollowed)
{
  const Tree tree;
  fs::create_directory_symlink(tree.path(), tree / "data/empty/loop");
  fs::create_directory_symlink(tree / "other", tree / "data/link");
  // what DeePMD-kit does: the link to a system is one, folders behind links are not searched
  EXPECT_EQ(find_systems({tree / "data"}),
            tree.here({"data/a", "data/a/deep", "data/b", "data/c", "data/link"}));
}

TEST(FindSystems, NamesWhatGivesNoSystem)
{
  const Tree tree;
  const auto message = [&](const std::string &name) {
    return message_of([&] { find_systems({name}, {}, tree.path()); });
  };
  expect_in("data/empty' holds no system", message("data/empty"));
  expect_in("nothing matches the pattern", message("data/z*"));
  expect_in("no such file or folder", message("data/none"));
  expect_in("an entry is empty", message(""));
}

TEST(ElementsOf, AreThoseThatOccur)
{
  const WaterSystem files;
  EXPECT_EQ(elements_of({files.path()}), (Names{"O", "H"}));
  files.with("type_map.raw", "H C O N");
  files.with("type.raw", "2 0");
  EXPECT_EQ(elements_of({files.path()}), (Names{"H", "O"}));
  files.with("set.000/real_atom_types.npy", npy_rows_of(2, 2, {3, -1, 1, 3}));
  EXPECT_EQ(elements_of({files.path()}), (Names{"C", "N"}));
  files.scratch.with("a.extxyz", "2\n\nFe 0 0 0\nN 0 0 1\n");
  EXPECT_EQ(elements_of({files.path(), files.scratch / "a.extxyz"}), (Names{"C", "N", "Fe"}));
  files.remove("type_map.raw");
  expect_in("type_map.raw: missing", message_of([&] { elements_of({files.path()}); }));
  files.remove("set.000/real_atom_types.npy");
  expect_in("missing; write it, with the name of the element",
            message_of([&] { elements_of({files.path()}); }));
  files.with("type_map.raw", "H C");
  expect_in("found type 2", message_of([&] { elements_of({files.path()}); }));
}

}  // namespace
}  // namespace dptrain
