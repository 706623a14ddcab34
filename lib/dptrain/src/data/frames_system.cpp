#include "data/frames_system.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "data/frames_record.h"
#include "dptrain/base/error.h"
#include "io/file.h"

namespace dptrain {

namespace {

struct Entry {
  std::int64_t offset = 0, natoms = 0, step = 0;
  Label kinds;  ///< one number for each label
};

/// Where the frames of a file are, and their types.
struct FramesIndex {
  FramesHeader header;
  std::vector<Entry> frames;
  std::vector<int> types;  ///< that occur, in this order
  bool same_atoms = true;
};

Label kinds_of(const Label &label)
{
  Label kinds;
  if (label.energy) kinds.energy = 0.0;
  if (label.virial) kinds.virial.emplace();
  if (!label.force.empty()) kinds.force.assign(1, 0.0);
  if (!label.force_weight.empty()) kinds.force_weight.assign(1, 1.0);
  return kinds;
}

// A record that is not whole is the last one of a run that goes on, or was killed. One amid others is damaged, and those behind it
// would be lost without a word.
void check_end(const File &file, std::int64_t offset, std::size_t frames)
{
  const std::int64_t size = file.size();
  if (offset < size && end_of_frames_record(file, size, offset) < size)
    throw Error(fmt::format("{}: frame {} is damaged, and others come behind it; copy the file "
                            "again, or go on with the {} frames before it: resume the run with it",
                            file.path(), frames, frames));
}

FramesIndex index_frames(const std::string &path)
{
  expect_regular_file(path);
  const File file(path, O_RDONLY);
  FramesIndex index;
  index.header = read_frames_header(file);
  const std::int64_t size = file.size();
  std::int64_t offset = index.header.end;
  std::vector<int> first_types;
  std::string payload;
  for (std::int64_t start = offset; read_frames_record(file, size, offset, payload);
       start = offset) {
    const WholeFrame frame = unpack_frame(payload, index.header, path);
    index.frames.push_back(
        {start, static_cast<std::int64_t>(frame.type.size()), frame.step, kinds_of(frame.label)});
    if (index.frames.size() == 1) first_types = frame.type;
    index.same_atoms = index.same_atoms && frame.type == first_types;
    for (const int type : frame.type)
      if (std::find(index.types.begin(), index.types.end(), type) == index.types.end())
        index.types.push_back(type);
  }
  check_end(file, offset, index.frames.size());
  return index;
}

class FramesSystem : public DataSystem {
 public:
  FramesSystem(const std::string &path, const DataOptions &options) :
      path_(path),
      index_(index_frames(path)),
      types_(places_in(options.type_map, index_.header.type_map))
  {
    for (const int type : index_.types)
      if (types_[type] < 0)
        throw Error(fmt::format("{}: element {} is not in the type map ({}); leave the file out, "
                                "or use a type map, or a model, with this element",
                                path_, index_.header.type_map[type], joined(options.type_map)));
  }

  const std::string &name() const override { return path_; }
  std::int64_t num_frames() const override
  {
    return static_cast<std::int64_t>(index_.frames.size());
  }
  std::int64_t natoms(std::int64_t frame) const override { return entry(frame).natoms; }
  bool same_atoms() const override { return index_.same_atoms; }

  WholeFrame read(std::int64_t frame) const override
  {
    const File file(path_, O_RDONLY);
    std::int64_t offset = entry(frame).offset;
    std::string payload;
    if (!read_frames_record(file, file.size(), offset, payload))
      throw Error(fmt::format("{}: frame {} has changed since the file was opened; start again",
                              path_, frame));
    WholeFrame whole = unpack_frame(payload, index_.header, path_);
    for (int &type : whole.type) type = types_[type];
    if (whole.baseline) add(whole.label, *whole.baseline, 1.0);
    whole.baseline.reset();
    whole.held_out = false;  // of that run
    whole.step = frame;
    return whole;
  }
  Label label_kinds(std::int64_t frame) const override { return entry(frame).kinds; }
  std::int64_t time_step(std::int64_t frame) const override { return entry(frame).step; }

 private:
  const Entry &entry(std::int64_t frame) const
  {
    require(frame);
    return index_.frames[static_cast<std::size_t>(frame)];
  }

  std::string path_;
  FramesIndex index_;
  std::vector<int> types_;  // of the model, for each of the file
};

}  // namespace

std::shared_ptr<const DataSystem> open_frames_system(const std::string &path,
                                                     const DataOptions &options)
{
  return std::make_shared<FramesSystem>(path, options);
}

std::vector<std::string> elements_of_frames(const std::string &path)
{
  const FramesIndex index = index_frames(path);
  std::vector<std::string> elements;
  for (const int type : index.types) elements.push_back(index.header.type_map[type]);
  return elements;
}

}  // namespace dptrain
