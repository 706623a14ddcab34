#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "io/file_lock.h"

namespace dptrain {

/// The labeled frames of a session on the disk: each is there before it is used. Collective; rank 0 has the file.
class FrameStore {
 public:
  /// `path`: the frames file; `checkpoint`: the one that counts on these frames, or empty. With a checkpoint no other process may
  /// write them until release(), or again after the next append(): Error.
  FrameStore(std::shared_ptr<const Communicator> comm, std::string path, std::string checkpoint,
             std::vector<std::string> type_map, Log log);

  const std::string &path() const { return path_; }
  /// Writes a frame, which is on the disk when this returns.
  void append(const WholeFrame &frame);
  /// Another process may go on. Not collective.
  void release() { lock_.reset(); }
  /// Goes on after `frames`, which were read from the file `source`: in that file if it is this one, else in a new file,
  /// which gets them. An existing file that is not continued is kept under another name, its checkpoint with it.
  void begin(const std::vector<WholeFrame> &frames, const std::string &source);
  /// Moves the frames of this session to a file of their own, PATH.wrong, and closes the file. Returns what it has done; empty where
  /// there are none.
  std::string take_back();
  /// The first `count` frames of a file (-1: all), with the types of their elements here. Rank 0 has them; the others have as
  /// many empty ones, see broadcast(). Throws Error for an element that the model `model` has not.
  std::vector<WholeFrame> read(const std::string &path, std::int64_t count,
                               const std::string &model) const;

 private:
  void lock();
  void open(const std::vector<WholeFrame> &frames, const std::string &source);

  std::shared_ptr<const Communicator> comm_;
  std::string path_, checkpoint_;
  std::vector<std::string> type_map_;
  std::size_t earlier_ = 0;  // frames of earlier sessions in the file
  Log log_;
  std::shared_ptr<FileLock> lock_;    // on rank 0
  std::unique_ptr<FramesFile> file_;  // on rank 0
};

}  // namespace dptrain
