#include "io/file_lock.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

const std::string ending = ".lock";

std::string who_am_i()
{
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on {}\n", getpid(), host.data());
}

std::string first_line(int descriptor)
{
  std::array<char, 512> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size() - 1, 0);
  const std::string line(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return line.substr(0, line.find('\n'));
}

// Whether a name still belongs to an open file: its owner removes it before the lock is given back.
bool is_at(const std::string &path, int descriptor)
{
  struct stat named, open;
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &open) == 0 &&
         named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

// For the message of another process; on a full disk it knows no name.
void sign(int descriptor)
{
  const std::string me = who_am_i();
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, me.data(), me.size(), 0) < 0) return;
}

// The file that a name stands for, wherever the program goes.
std::string place_of(const std::string &path)
{
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path absolute = fs::absolute(path), place = fs::weakly_canonical(absolute, failed);
  return (failed ? absolute : place).string() + ending;
}

}  // namespace

std::shared_ptr<FileLock> FileLock::of(const std::string &path)
{
  static std::map<std::string, std::weak_ptr<FileLock>> locks;
  const std::string place = place_of(path);
  std::weak_ptr<FileLock> &known = locks[place];
  std::shared_ptr<FileLock> lock = known.lock();
  if (!lock) known = lock = std::shared_ptr<FileLock>(new FileLock(place));
  return lock;
}

FileLock::FileLock(std::string path) : path_(std::move(path))
{
  while (!try_lock()) {}
}

// False where its owner has removed the file meanwhile.
bool FileLock::try_lock()
{
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return true;  // who writes here says why that is not possible
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
    if (is_at(path_, descriptor_)) {
      sign(descriptor_);
      return true;
    }
  } else if (errno == EWOULDBLOCK) {
    const std::string owner = first_line(descriptor_);
    close(descriptor_);
    throw Error(fmt::format(
        "{} is being written by {}: wait until it has ended, or choose another name",
        path_.substr(0, path_.size() - ending.size()), owner.empty() ? "another process" : owner));
  } else {
    unlink(path_.c_str());  // no locks in this file system
    close(std::exchange(descriptor_, -1));
    return true;
  }
  close(descriptor_);
  return false;
}

FileLock::~FileLock()
{
  if (descriptor_ < 0) return;
  unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace dptrain
