#pragma once

#include <memory>
#include <string>

namespace dptrain {

/// A file that other processes must not write, for the life of the object: PATH.lock, locked by flock(2) and removed at the end.
/// The system gives it back when a process is killed. Where the file system has no locks there is none.
class FileLock {
 public:
  /// The lock of this file, which all objects of a process have in common. Throws Error that names the other process.
  static std::shared_ptr<FileLock> of(const std::string &path);
  ~FileLock();
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

 private:
  explicit FileLock(std::string path);
  bool try_lock();

  std::string path_;  // PATH.lock
  int descriptor_ = -1;
};

}  // namespace dptrain
