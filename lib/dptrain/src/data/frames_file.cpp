#include "dptrain/data/frames_file.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>

#include "base/advice.h"
#include "base/text.h"
#include "data/frames_record.h"
#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "io/file.h"

namespace dptrain {

namespace {

[[noreturn]] void too_few(const std::string &path, std::int64_t found, std::int64_t expected)
{
  throw Error(fmt::format(
      "{}: holds {} complete frames, {} are needed; it does not belong to this checkpoint, or its "
      "end was lost: copy both files again, or start from the model file instead of resuming",
      path, found, expected));
}

}  // namespace

struct FramesFile::Impl {
  Impl(const std::string &path, int flags) : file(path, flags) {}
  File file;
  std::int64_t end = 0;
};

FramesFile::FramesFile(const std::string &path, const std::vector<std::string> &type_map,
                       std::int64_t keep)
{
  if (keep > 0) File(path, O_RDONLY);  // must exist: do not create an empty one
  impl_ = std::make_unique<Impl>(path, O_RDWR | O_CREAT);
  File &file = impl_->file;
  const std::int64_t size = file.size();
  const std::string header = frames_header(type_map);
  if (keep == 0 && (is_cut_frames_header(file) || read_frames_header(file).type_map != type_map)) {
    file.write(header.data(), header.size(), 0);
    impl_->end = static_cast<std::int64_t>(header.size());
  } else {
    const FramesHeader found = read_frames_header(file);
    if (found.type_map != type_map)
      throw internal_error(fmt::format("{} has the types {} and was to be continued with {}", path,
                                       joined(found.type_map), joined(type_map)));
    impl_->end = found.end;
  }
  std::string payload;
  for (std::int64_t count = 0; count < keep; ++count)
    if (!read_frames_record(file, size, impl_->end, payload)) too_few(path, count, keep);
  file.truncate(impl_->end);
  file.sync();
  sync_folder_of(path);
}

FramesFile::~FramesFile() = default;

void FramesFile::append(const WholeFrame &frame)
{
  const std::string record = frames_record(frame);
  File &file = impl_->file;
  try {
    file.write(record.data(), record.size(), impl_->end);
    file.sync();
  } catch (const Error &) {
    try {
      file.truncate(impl_->end);
    } catch (const Error &) {
      // the first error tells more; a cut record is recognized when the file is read
    }
    throw;
  }
  impl_->end += static_cast<std::int64_t>(record.size());
}

void FramesFile::append_to(const std::string &path, const std::vector<std::string> &type_map,
                           const WholeFrame &frame)
{
  std::int64_t there = 0;
  if (std::filesystem::exists(path)) {
    const StoredFrames stored = read(path, -1);
    there = static_cast<std::int64_t>(stored.frames.size());
    if (there > 0 && stored.type_map != type_map) {
      put_aside({path});
      there = 0;
    }
  }
  FramesFile(path, type_map, there).append(frame);
}

bool FramesFile::is_cut(const std::string &path)
{
  const File file(path, O_RDONLY);
  const std::int64_t size = file.size();
  std::int64_t offset = read_frames_header(file).end;
  std::string payload;
  while (read_frames_record(file, size, offset, payload)) {}
  return offset < size;
}

StoredFrames FramesFile::read(const std::string &path, std::int64_t count)
{
  const File file(path, O_RDONLY);
  const std::int64_t size = file.size();
  if (count <= 0 && is_cut_frames_header(file)) return {};
  const FramesHeader header = read_frames_header(file);
  StoredFrames stored{header.type_map, {}};
  std::int64_t offset = header.end;
  std::string payload;
  while (count < 0 || static_cast<std::int64_t>(stored.frames.size()) < count) {
    if (!read_frames_record(file, size, offset, payload)) {
      if (count < 0) break;
      too_few(path, static_cast<std::int64_t>(stored.frames.size()), count);
    }
    stored.frames.push_back(unpack_frame(payload, header, path));
  }
  return stored;
}

}  // namespace dptrain
