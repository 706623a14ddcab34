// Writing so that the previous file survives every failure.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "support/scratch.h"

namespace dptrain {
namespace {

namespace fs = std::filesystem;
using test::expect_in;
using test::message_of;
using test::Scratch;

std::size_t files_in(const Scratch &scratch)
{
  return list_folder(scratch.path()).size();
}

TEST(AtomicFile, ReplacesAFile)
{
  const Scratch scratch;
  const std::string path = scratch.with("file", "old");
  write_atomically(path, [&](const std::string &name) {
    EXPECT_EQ(fs::path(name).parent_path(), fs::path(path).parent_path());
    write_file(name, "new");
    EXPECT_EQ(read_file(path), "old");
  });
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(files_in(scratch), 1u);
}

TEST(AtomicFile, KeepsTheOldFileIfWritingFails)
{
  const Scratch scratch;
  const std::string path = scratch.with("file", "old");
  const std::string text = message_of([&] {
    write_atomically(path, [&](const std::string &name) {
      write_file(name, "half");
      throw Error("the writer failed");
    });
  });
  expect_in(path, text);
  expect_in("unchanged", text);
  expect_in("the writer failed", text);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(scratch), 1u);
}

TEST(AtomicFile, NamesTheReasonOfTheSystem)
{
  const Scratch scratch;
  const auto write = [](const std::string &name) { write_file(name, "new"); };
  expect_in("No such file or directory",
            message_of([&] { write_atomically(scratch / "missing/file", write); }));
  fs::create_directory(scratch / "folder");
  expect_in("irectory", message_of([&] { write_atomically(scratch / "folder", write); }));
  EXPECT_EQ(files_in(scratch), 1u);
}

TEST(AtomicFile, FullDiskLeavesTheOldFile)
{
  const Scratch scratch;
  const std::string path = scratch.with("file", "old");
  // a limit on the file size fails in the middle of writing, as a full disk does
  rlimit before{}, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = message_of([&] {
    write_atomically(path,
                     [](const std::string &name) { write_file(name, std::string(10000, 'x')); });
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_in("File too large", text);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(scratch), 1u);
}

TEST(AtomicFile, ReadOnlyFolderLeavesTheOldFile)
{
  if (::geteuid() == 0) GTEST_SKIP() << "the super-user may write everywhere";
  const Scratch scratch;
  const std::string path = scratch.with("file", "old");
  fs::permissions(scratch.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_in("Permission denied", message_of([&] {
              write_atomically(path, [](const std::string &name) { write_file(name, "new"); });
            }));
  EXPECT_EQ(read_file(path), "old");
}

TEST(AtomicFile, FollowsALink)
{
  const Scratch scratch;
  const std::string target = scratch.with("target", "old");
  fs::create_symlink("target", scratch / "link");
  write_atomically(scratch / "link", [](const std::string &name) { write_file(name, "new"); });
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_EQ(read_file(target), "new");
}

}  // namespace
}  // namespace dptrain
