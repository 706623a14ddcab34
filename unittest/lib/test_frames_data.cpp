// The labels of a run as a data set, and data sets from one format to another.
#include <gtest/gtest.h>

#include <filesystem>

#include "commands/convert_data.h"
#include "data/frames_record.h"
#include "dptrain/base/error.h"
#include "dptrain/data/data_set.h"
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

/// Frames of two atom types with all kinds of labels; the time steps are 10 apart.
std::vector<WholeFrame> some_frames()
{
  std::vector<WholeFrame> frames;
  for (int k = 0; k < 4; ++k) {
    frames.push_back(random_whole_frame(5, 2, k));
    frames.back().step = 10 * k;
    auto &virial = *frames.back().label.virial;  // symmetric, as those of forces are
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < i; ++j) virial[3 * i + j] = virial[3 * j + i];
  }
  frames[1].periodic = false;
  frames[1].box = {};
  frames[1].label.virial.reset();
  frames[2].held_out = true;
  frames[3].label.energy.reset();
  frames[3].label.virial.reset();
  frames[3].label.force_weight = {0.0, 1.0, 0.25, 0.0, 1.0};
  return frames;
}

std::string written(const Scratch &scratch, const std::vector<WholeFrame> &frames)
{
  const std::string path = scratch / "run.frames";
  FramesFile file(path, names, 0);
  for (const auto &frame : frames) file.append(frame);
  return path;
}

std::shared_ptr<const DataSystem> opened(const std::string &path,
                                         const std::vector<std::string> &type_map = names)
{
  DataOptions options;
  options.type_map = type_map;
  return open_system(path, options);
}

TEST(FramesData, AreTheLabelsOfTheRun)
{
  const Scratch scratch;
  std::vector<WholeFrame> frames = some_frames();
  const std::string path = written(scratch, frames);
  const auto system = opened(path);
  ASSERT_EQ(system->num_frames(), 4);
  for (int k = 0; k < 4; ++k) {
    WholeFrame read = system->read(k);
    EXPECT_EQ(read.step, k);
    EXPECT_EQ(system->time_step(k), 10 * k);
    EXPECT_EQ(system->natoms(k), 5);
    EXPECT_FALSE(read.held_out);  // of that run
    frames[k].held_out = false;
    EXPECT_TRUE(same_content(read, frames[k])) << k;
    const Label kinds = system->label_kinds(k);
    EXPECT_EQ(kinds.energy.has_value(), k != 3);
    EXPECT_EQ(kinds.virial.has_value(), k == 0 || k == 2);
    EXPECT_FALSE(kinds.force.empty());
  }
  EXPECT_EQ(find_systems({path}), std::vector<std::string>{path});
  EXPECT_EQ(find_systems({scratch.path()}, {"*.frames"}).size(), 1u);
}

TEST(FramesData, TypesAreThoseOfTheirElements)
{
  const Scratch scratch;
  WholeFrame frame = random_whole_frame(4);
  frame.type = {2, 0, 0, 2};
  const std::string path = written(scratch, {frame});
  EXPECT_EQ(elements_of({path}), (std::vector<std::string>{"Na", "H"}));
  const auto system = opened(path, {"H", "C", "Na"});
  EXPECT_EQ(system->read(0).type, (std::vector<int>{2, 0, 0, 2}));
  EXPECT_TRUE(system->same_atoms());
  expect_in("run.frames: element Na is not in the type map (H O)", message_of([&] {
              opened(path, {"H", "O"});
            }));
}

// Labels of a potential with a baseline are stored without it.
TEST(FramesData, LabelsAreThoseOfTheReference)
{
  const Scratch scratch;
  WholeFrame frame = random_whole_frame(3);
  Label &baseline = frame.baseline.emplace();
  baseline.energy = 2.0;
  baseline.force.assign(9, 0.5);
  baseline.virial.emplace().fill(0.25);
  const WholeFrame read = opened(written(scratch, {frame}))->read(0);
  EXPECT_DOUBLE_EQ(*read.label.energy, *frame.label.energy + 2.0);
  EXPECT_DOUBLE_EQ(read.label.force[4], frame.label.force[4] + 0.5);
  EXPECT_DOUBLE_EQ((*read.label.virial)[8], (*frame.label.virial)[8] + 0.25);
  EXPECT_FALSE(read.baseline);
}

// The run that writes it may go on, or have been killed.
TEST(FramesData, ARecordThatIsNotCompleteYetIsNone)
{
  const Scratch scratch;
  const std::string path = written(scratch, some_frames()), bytes = read_file(path);
  EXPECT_FALSE(FramesFile::is_cut(path));
  for (const std::size_t cut : {1, 20, 200}) {
    const std::string shorter = scratch.with("cut.frames", bytes.substr(0, bytes.size() - cut));
    EXPECT_EQ(opened(shorter)->num_frames(), 3);
    EXPECT_TRUE(FramesFile::is_cut(shorter));
  }
}

TEST(FramesData, ADamagedRecordAmidOthersIsAnError)
{
  const Scratch scratch;
  const std::string path = written(scratch, some_frames());
  std::string bytes = read_file(path);
  bytes[frames_header(names).size() + frames_record(some_frames()[0]).size() + 40] ^= 1;
  write_file(path, bytes);
  expect_in("frame 1 is damaged", message_of([&] { opened(path); }));
}

TEST(ConvertData, KeepsEveryBit)
{
  const Scratch scratch;
  std::vector<WholeFrame> frames = some_frames();
  for (WholeFrame &frame : frames) frame.held_out = false;
  const std::string start = written(scratch, frames);
  EXPECT_EQ(convert_data(start, scratch / "a.xyz").frames, 4);
  EXPECT_EQ(convert_data(scratch / "a.xyz", scratch / "b.frames").frames, 4);
  const auto system = opened(scratch / "b.frames");
  for (int k = 0; k < 4; ++k) EXPECT_TRUE(same_content(system->read(k), frames[k])) << k;
  expect_in("step=30", read_file(scratch / "a.xyz"));
}

TEST(ConvertData, WritesFoldersOfDeepmdKit)
{
  const Scratch scratch;
  std::vector<WholeFrame> frames = some_frames();
  for (WholeFrame &frame : frames) frame.type = {0, 0, 1, 1, 1};
  EXPECT_EQ(convert_data(written(scratch, frames), scratch / "data/").frames, 4);
  const auto systems = find_systems({scratch / "data"});
  ASSERT_EQ(systems.size(), 3u);  // bulk, without cell, forces alone
  EXPECT_EQ(convert_data(scratch / "data", scratch / "back.extxyz").frames, 4);
  frames[0].step = frames[2].step = 0;
  const auto back = opened(scratch / "back.extxyz");
  EXPECT_TRUE(same_content(back->read(0), frames[0]));
}

// A pattern stands for the files that it fits.
TEST(ConvertData, NamesFilesThatAreCut)
{
  const Scratch scratch;
  const std::string path = written(scratch, some_frames()), bytes = read_file(path);
  const std::string cut = scratch.with("run2.frames", bytes.substr(0, bytes.size() - 1));
  const ConvertedData done = convert_data(scratch / "run*.frames", scratch / "all.xyz");
  EXPECT_EQ(done.frames, 7);
  EXPECT_EQ(done.cut, cut);
}

TEST(ConvertData, SaysWhatItDoesNotDo)
{
  const Scratch scratch;
  const std::string path = written(scratch, some_frames());
  expect_in("run.frames is there already", message_of([&] { convert_data(path, path); }));
  expect_in("no such file", message_of([&] { convert_data("nosuch.xyz", scratch / "a.xyz"); }));
  expect_in("has no frames",
            message_of([&] { convert_data(written(scratch, {}), scratch / "a.xyz"); }));
  EXPECT_FALSE(std::filesystem::exists(scratch / "a.xyz"));
  for (const char *name : {"a.xyz", "folder", "folder/", "x/a.frames"})
    EXPECT_TRUE(is_data_name(name)) << name;
  for (const char *name : {"model.pb", "model.dp"}) EXPECT_FALSE(is_data_name(name)) << name;
}

}  // namespace
}  // namespace dptrain
