#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/frames/frame.h"
#include "io/file.h"

namespace dptrain {

/// Numbered frames: in memory up to a number of bytes. The arrays of further ones (positions, types, tags, neighbor rows,
/// labels) are on the scratch disk of this rank between two uses: in a file without a name in the folder TMPDIR, else in the
/// present one, which is gone when the process ends. The system keeps in memory what it can of it.
class FramePool {
 public:
  /// `memory`: bytes of the frames that stay in memory, beside those in use; `rest`: of what stays there of the others (their plans of ghosts).
  explicit FramePool(std::size_t memory, std::size_t rest = SIZE_MAX) : memory_(memory), rest_(rest)
  {
  }

  /// Takes a frame, which is in use then, in place of the one with this number, if there is one. False: there is room for it
  /// neither in memory nor on the disk, the last GiB of which is left to others. Then `release` drops its neighbor rows only.
  bool put(std::int64_t number, Frame frame);
  bool has(std::int64_t number) const { return entries_.count(number) > 0; }
  /// Throws Error if there is no such frame. Its arrays may be elsewhere.
  const Frame &frame(std::int64_t number) const { return entry(number).frame; }
  /// The frame with its arrays and neighbor rows (which are found anew if they were dropped); until `release`, which forgets
  /// them again where there is no room.
  const Frame &use(std::int64_t number);
  void release(std::int64_t number);
  void erase(std::int64_t number);
  /// Lets the system read what will be used soon, of a frame that may be here.
  void prefetch(std::int64_t number) const;
  /// No further frame goes to the disk.
  void close_disk() { rest_ = 0; }

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  /// Frames, neighbor rows, halo.
  MemoryLedger memory() const;
  /// Why a frame could not wait on this rank's scratch disk; empty if all could.
  const std::string &scratch_trouble() const { return scratch_trouble_; }
  std::int64_t disk_bytes() const { return end_; }

 private:
  /// What remains in memory of a frame that is not in use.
  enum class Stays { all, without_arrays, without_rows };
  struct Entry {
    Frame frame;
    Stays stays = Stays::without_rows;
    std::size_t bytes = 0;                   // that are counted, between two uses
    std::int64_t offset = 0;                 // of its record on the disk
    std::size_t record_bytes = 0, room = 0;  // there
  };
  const Entry &entry(std::int64_t number) const;
  Entry &entry(std::int64_t number);
  void forget(Entry &entry);
  bool write(Entry &entry);
  void read(Entry &entry) const;

  std::unordered_map<std::int64_t, Entry> entries_;
  std::size_t memory_, rest_, whole_ = 0, aside_ = 0;
  std::unique_ptr<File> file_;  // made when it is needed
  std::int64_t end_ = 0;
  std::string scratch_trouble_;
};

}  // namespace dptrain
