// The log of labeled frames: exact content, continuation after any interruption.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "data/frames_record.h"
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

const std::vector<std::string> names{"H", "O", "Na"};

void write_frames(const std::string &path, int count)
{
  FramesFile file(path, names, 0);
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
  WholeFrame charged = random_whole_frame(1);
  charged.charge = -2.0;
  charged.label.frame_weight = 0.5;
  const std::vector<WholeFrame> frames{random_whole_frame(5), bare, energy_only, charged};
  {
    FramesFile file(scratch / "run.frames", names, 0);
    for (const auto &frame : frames) file.append(frame);
  }
  const auto read = FramesFile::read(scratch / "run.frames", 4).frames;
  ASSERT_EQ(read.size(), 4u);
  for (int k = 0; k < 4; ++k) {
    EXPECT_TRUE(same_content(read[k], frames[k])) << k;
    EXPECT_EQ(read[k].step, frames[k].step);
  }
}

TEST(FramesFile, KeepsWeightsOfForces)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  WholeFrame cut = random_whole_frame(5, 2, 9);
  cut.label.energy.reset();
  cut.label.virial.reset();
  cut.label.force_weight = {0.0, 1.0, 0.25, 0.0, 1.0};
  FramesFile file(path, names, 0);
  file.append(random_whole_frame(6, 2, 2));
  file.append(cut);
  const auto frames = FramesFile::read(path, -1).frames;
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(same_content(frames[1], cut));
  cut.label.force_weight.pop_back();
  expect_in("4 force weights", message_of([&] { file.append(cut); }));
}

TEST(FramesFile, HasTheNamesOfItsTypes)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  write_frames(path, 2);
  EXPECT_EQ(FramesFile::read(path, 0).type_map, names);
  expect_in("was to be continued with O H", message_of([&] { FramesFile(path, {"O", "H"}, 1); }));
  EXPECT_EQ(FramesFile::read(path, -1).frames.size(), 2u);
  FramesFile(path, {"Si"}, 0);  // starts again
  EXPECT_EQ(FramesFile::read(path, -1).type_map, std::vector<std::string>{"Si"});
}

TEST(FramesFile, IsReadableWhileOpen)
{
  const Scratch scratch;
  FramesFile file(scratch / "run.frames", names, 0);
  file.append(random_whole_frame(5));
  EXPECT_EQ(FramesFile::read(scratch / "run.frames", 1).frames.size(), 1u);
}

TEST(FramesFile, ContinuesAfterTheKeptFrames)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  write_frames(path, 4);
  {
    FramesFile file(path, names, 2);
    file.append(random_whole_frame(9, 3, 77));
  }
  const auto frames = FramesFile::read(path, 3).frames;
  EXPECT_TRUE(same_content(frames[1], random_whole_frame(5, 2, 1)));
  EXPECT_TRUE(same_content(frames[2], random_whole_frame(9, 3, 77)));
  expect_in("holds 3 complete frames, 4 are needed",
            message_of([&] { FramesFile::read(path, 4); }));
  // keep = 0 starts again
  FramesFile file(path, names, 0);
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
    EXPECT_EQ(FramesFile::read(scratch / "cut", 1).frames.size(), 1u);
    EXPECT_THROW(FramesFile::read(scratch / "cut", 2), Error);
    FramesFile(scratch / "cut", names, 1).append(random_whole_frame(5, 2, 1));
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
  expect_in("not a file of labeled frames", message_of([&] { FramesFile(path, names, 0); }));
  EXPECT_EQ(read_file(path), "these are my notes, do not lose them");
  expect_in("not a file of labeled frames", message_of([&] { FramesFile::read(path, 1); }));
  write_frames(scratch / "run.frames", 1);
  std::string bytes = read_file(scratch / "run.frames");
  bytes[8] = 9;
  write_file(scratch / "new.frames", bytes);
  expect_in("another format", message_of([&] { FramesFile(scratch / "new.frames", names, 1); }));
}

TEST(FramesFile, NamesMissingFilesAndShortOnes)
{
  const Scratch scratch;
  expect_in("No such file", message_of([&] { FramesFile(scratch / "nothing", names, 3); }));
  EXPECT_FALSE(std::filesystem::exists(scratch / "nothing"));
  expect_in("No such file", message_of([&] { FramesFile::read(scratch / "nothing", 0); }));
  write_frames(scratch / "run.frames", 2);
  const std::string before = read_file(scratch / "run.frames");
  expect_in("does not belong to this checkpoint",
            message_of([&] { FramesFile(scratch / "run.frames", names, 3); }));
  EXPECT_EQ(read_file(scratch / "run.frames"), before);
}

TEST(FramesFile, StartsOverWhereItsCreationWasInterrupted)
{
  const Scratch scratch;
  const std::string whole = frames_header(names);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = scratch.with("run.frames", whole.substr(0, size));
    EXPECT_TRUE(FramesFile::read(path, -1).frames.empty());
    FramesFile(path, names, 0).append(random_whole_frame(2));
    EXPECT_EQ(FramesFile::read(path, 1).frames.size(), 1u);
  }
}

TEST(FramesFile, StaysWholeWhenTheDiskIsFull)
{
  const Scratch scratch;
  const std::string path = scratch / "run.frames";
  FramesFile file(path, names, 0);
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
  EXPECT_EQ(FramesFile::read(path, 2).frames.size(), 2u);
}

TEST(FramesFile, RefusesAFrameThatDoesNotFitTogether)
{
  const Scratch scratch;
  FramesFile file(scratch / "run.frames", names, 0);
  WholeFrame frame = random_whole_frame(4);
  frame.label.force.pop_back();
  expect_in("force components", message_of([&] { file.append(frame); }));
  frame = random_whole_frame(4);
  frame.coord.pop_back();
  expect_in("coordinates", message_of([&] { file.append(frame); }));
}

}  // namespace
}  // namespace dptrain
