// The log of labeled frames: exact content, continuation after any interruption.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/frames/whole_frame.h"
#include "support/scratch.h"
#include "support/whole_frame.h"

namespace dptrain {
namespace {

using test::expect_in;
using test::message_of;
using test::random_whole_frame;
using test::same_content;
using test::Scratch;

void write_frames(const std::string &path, int count)
{
  FramesFile file(path, 0);
  for (int k = 0; k < count; ++k) file.append(random_whole_frame(4 + k, 2, k));
}

TEST(FramesFile, GivesBackEveryBit)
{
  const Scratch scratch;
  WholeFrame bare = random_whole_frame(3);
  bare.periodic = false;
  bare.label = Label();
  WholeFrame energy_only = bare;
  energy_only.label.energy = -0.0;
  const std::vector<WholeFrame> frames{random_whole_frame(5), bare, energy_only,
                                       random_whole_frame(1)};
  {
    FramesFile file(scratch / "run.frames", 0);
    for (const auto &frame : frames) file.append(frame);
  }
  const auto read = FramesFile::read(scratch / "run.frames", 4);
  ASSERT_EQ(read.size(), 4u);
  for (int k = 0; k < 4; ++k) {
    EXPECT_TRUE(same_content(read[k], frames[k])) << k;
    EXPECT_EQ(read[k].step, frames[k].step);
  }
}

// What a program reads that does not know weights, it must not take for a label of whole forces.
TEST(FramesFile, HasAnotherVersionWithTheFirstWeights)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  write_frames(path, 2);
  EXPECT_EQ(read_file(path)[8], 1);
  WholeFrame cut = random_whole_frame(5, 2, 9);
  cut.label.energy.reset();
  cut.label.virial.reset();
  cut.label.force_weight = {0.0, 1.0, 0.25, 0.0, 1.0};
  {
    FramesFile file(path, 2);
    file.append(cut);
    file.append(random_whole_frame(6, 2, 2));
  }
  EXPECT_EQ(read_file(path)[8], 2);
  {
    FramesFile file(path, 4);
    file.append(cut);
  }
  const auto frames = FramesFile::read(path, -1);
  ASSERT_EQ(frames.size(), 5u);
  EXPECT_TRUE(same_content(frames[1], random_whole_frame(5, 2, 1)));
  EXPECT_TRUE(same_content(frames[2], cut));
  EXPECT_TRUE(same_content(frames[3], random_whole_frame(6, 2, 2)));
  EXPECT_TRUE(same_content(frames[4], cut));
  cut.label.force_weight.pop_back();
  expect_in("4 force weights", message_of([&] { FramesFile(path, 5).append(cut); }));
}

TEST(FramesFile, IsReadableWhileOpen)
{
  const Scratch scratch;
  FramesFile file(scratch / "run.frames", 0);
  file.append(random_whole_frame(5));
  EXPECT_EQ(FramesFile::read(scratch / "run.frames", 1).size(), 1u);
}

TEST(FramesFile, ContinuesAfterTheKeptFrames)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  write_frames(path, 4);
  {
    FramesFile file(path, 2);
    file.append(random_whole_frame(9, 3, 77));
  }
  const auto frames = FramesFile::read(path, 3);
  EXPECT_TRUE(same_content(frames[1], random_whole_frame(5, 2, 1)));
  EXPECT_TRUE(same_content(frames[2], random_whole_frame(9, 3, 77)));
  expect_in("holds 3 complete frames, 4 are needed",
            message_of([&] { FramesFile::read(path, 4); }));
  // keep = 0 starts again
  FramesFile file(path, 0);
  expect_in("holds 0 complete", message_of([&] { FramesFile::read(path, 1); }));
}

TEST(FramesFile, RecognizesACutRecordAtEveryLength)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  write_frames(path, 1);
  const std::size_t first = read_file(path).size();
  write_frames(path, 2);
  const std::string bytes = read_file(path);
  for (std::size_t size = first; size < bytes.size(); ++size) {
    scratch.with("cut", bytes.substr(0, size));
    EXPECT_EQ(FramesFile::read(scratch / "cut", 1).size(), 1u);
    EXPECT_THROW(FramesFile::read(scratch / "cut", 2), Error);
    FramesFile(scratch / "cut", 1).append(random_whole_frame(5, 2, 1));
    EXPECT_EQ(read_file(scratch / "cut"), bytes);
  }
}

TEST(FramesFile, RecognizesAChangedByte)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  write_frames(path, 1);
  std::string bytes = read_file(path);
  bytes[bytes.size() / 2] ^= 4;
  write_file(path, bytes);
  expect_in("holds 0 complete", message_of([&] { FramesFile::read(path, 1); }));
}

TEST(FramesFile, LeavesOtherFilesAlone)
{
  const Scratch scratch;
  const std::string path = scratch.with("notes.txt", "these are my notes, do not lose them");
  expect_in("not a file of labeled frames", message_of([&] { FramesFile(path, 0); }));
  EXPECT_EQ(read_file(path), "these are my notes, do not lose them");
  expect_in("not a file of labeled frames", message_of([&] { FramesFile::read(path, 1); }));
  write_frames(scratch / "run.frames", 1);
  std::string bytes = read_file(scratch / "run.frames");
  bytes[8] = 9;
  write_file(scratch / "new.frames", bytes);
  expect_in("another format", message_of([&] { FramesFile(scratch / "new.frames", 1); }));
}

TEST(FramesFile, NamesMissingFilesAndShortOnes)
{
  const Scratch scratch;
  expect_in("No such file", message_of([&] { FramesFile(scratch / "nothing", 3); }));
  EXPECT_FALSE(std::filesystem::exists(scratch / "nothing"));
  expect_in("No such file", message_of([&] { FramesFile::read(scratch / "nothing", 0); }));
  write_frames(scratch / "run.frames", 2);
  const std::string before = read_file(scratch / "run.frames");
  expect_in("does not belong to this checkpoint",
            message_of([&] { FramesFile(scratch / "run.frames", 3); }));
  EXPECT_EQ(read_file(scratch / "run.frames"), before);
}

TEST(FramesFile, StartsOverWhereItsCreationWasInterrupted)
{
  const Scratch scratch;
  for (const std::string start : {"", "DPFRA"}) {
    const std::string path = scratch.with("run.frames", start);
    EXPECT_TRUE(FramesFile::read(path, -1).empty());
    FramesFile(path, 0).append(random_whole_frame(2));
    EXPECT_EQ(FramesFile::read(path, 1).size(), 1u);
  }
}

TEST(FramesFile, StaysWholeWhenTheDiskIsFull)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  FramesFile file(path, 0);
  file.append(random_whole_frame(10));
  const std::string before = read_file(path);
  // a limit on the file size fails in the middle of writing, as a full disk does
  rlimit old{}, small{};
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = before.size() + 100;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = message_of([&] { file.append(random_whole_frame(10)); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  expect_in(path, text);
  expect_in("File too large", text);
  EXPECT_EQ(read_file(path), before);
  file.append(random_whole_frame(10));
  EXPECT_EQ(FramesFile::read(path, 2).size(), 2u);
}

TEST(FramesFile, RefusesAFrameThatDoesNotFitTogether)
{
  const Scratch scratch;
  FramesFile file(scratch / "run.frames", 0);
  WholeFrame frame = random_whole_frame(4);
  frame.label.force.pop_back();
  expect_in("force components", message_of([&] { file.append(frame); }));
  frame = random_whole_frame(4);
  frame.coord.pop_back();
  expect_in("coordinates", message_of([&] { file.append(frame); }));
}

}  // namespace
}  // namespace dptrain
