#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dptrain {

/// Reads up to so many bytes at an offset and returns how many there were: of a file, or of memory.
using ReadAt = std::function<std::size_t(char *data, std::size_t bytes, std::int64_t offset)>;

/// Throws Error if `path` is missing, a directory or anything else that is not a regular file.
void expect_regular_file(const std::string &path);

/// The whole content of a regular file. Throws Error that says whether it is missing, a directory
/// or unreadable (with the system's reason).
std::string read_file(const std::string &path);

/// Creates or replaces a file with the given bytes. Throws Error with the system's reason.
void write_file(const std::string &path, const std::string &bytes);

/// An open file descriptor that closes itself. Errors name the file and the system's reason.
class File {
 public:
  /// `flags` and mode 0666 as for open(2).
  File(const std::string &path, int flags);
  /// A new file without a name in a folder, for the calling process alone; it is gone when it is closed.
  static std::unique_ptr<File> scratch(const std::string &folder);
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  std::int64_t size() const;
  /// Writes all bytes at `offset`.
  void write(const void *data, std::size_t bytes, std::int64_t offset);
  /// Reads up to `bytes` bytes at `offset`; returns how many there were.
  std::size_t read(void *data, std::size_t bytes, std::int64_t offset) const;
  void truncate(std::int64_t size);
  /// Lets the system read ahead.
  void will_need(std::int64_t offset, std::size_t bytes) const;
  /// Waits until the data are on the disk.
  void sync();
  const std::string &path() const { return path_; }

 private:
  File(const std::string &path, int descriptor, std::nullptr_t) :
      path_(path), descriptor_(descriptor)
  {
  }
  [[noreturn]] void fail(const char *action) const;
  std::string path_;
  int descriptor_;
};

/// Waits until new names in the folder of `path` are on the disk.
void sync_folder_of(const std::string &path);

/// Names in a folder, sorted. Throws Error with the system's reason.
std::vector<std::string> list_folder(const std::string &path);

/// Keeps files under new names beside them, which have one more ending: ".old", ".old2", ... Files that are not there are
/// passed over. Throws Error where that is not possible. Returns the ending.
std::string put_aside(const std::vector<std::string> &paths);

/// Makes a folder and its parents. Throws Error with the system's reason.
void make_folder(const std::string &path);

}  // namespace dptrain
