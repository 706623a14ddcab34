// A lock on a file: between processes, of a process that is killed, within one process.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "io/file_lock.h"
#include "support/scratch.h"

namespace dptrain::test {
namespace {

namespace fs = std::filesystem;

/// Another process that locks a file and waits to be killed.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string &path)
  {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const auto lock = FileLock::of(path);
      const bool told = write(ends[1], "x", 1) == 1;
      while (told) pause();
      _exit(1);
    }
    char ready;
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
  }
  ~OtherProcess() { kill_it(); }
  void kill_it()
  {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(FileLock, NamesTheProcessThatHasIt)
{
  const Scratch scratch;
  OtherProcess other(scratch / "x.frames");
  const std::string message = message_of([&] { FileLock::of(scratch / "x.frames"); });
  EXPECT_NE(
      message.find("x.frames is being written by process " + std::to_string(other.pid()) + " on "),
      std::string::npos)
      << message;
  const auto another_file = FileLock::of(scratch / "y.frames");
  other.kill_it();
  EXPECT_TRUE(fs::exists(scratch / "x.frames.lock"));
  EXPECT_NE(FileLock::of(scratch / "x.frames"), nullptr);  // nothing stays of who was killed
}

TEST(FileLock, IsOneInAProcessAndGoesWithItsLastOwner)
{
  const Scratch scratch;
  auto first = FileLock::of(scratch / "x.frames");
  auto second = FileLock::of(scratch / "x.frames");
  EXPECT_EQ(first, second);
  first.reset();
  EXPECT_TRUE(fs::exists(scratch / "x.frames.lock"));
  second.reset();
  EXPECT_FALSE(fs::exists(scratch / "x.frames.lock"));
  EXPECT_NE(FileLock::of(scratch / "x.frames"), nullptr);
}

TEST(FileLock, IsNoneWhereNothingCanBeWritten)
{
  EXPECT_NE(FileLock::of("/nonexistent/x.frames"), nullptr);
}

}  // namespace
}  // namespace dptrain::test
