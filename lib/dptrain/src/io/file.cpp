#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"

namespace dptrain {

namespace {

std::string folder_of(const std::string &path)
{
  const auto parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

const char *hint(int code, bool reading = false)
{
  switch (code) {
  case ENOENT:
    return "; check the name and that the folder exists";
  case ENOSPC:
  case EDQUOT:
    return "; free some space or choose another disk";
  case EACCES:
  case EROFS:
    if (reading) return "; check its permissions";
    return "; choose a place where you may write, or change the permissions";
  default:
    return "; check the disk, or choose another place";
  }
}

}  // namespace

File::File(const std::string &path, int flags) :
    path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666))
{
  if (descriptor_ >= 0) return;
  if (flags & (O_WRONLY | O_RDWR)) fail("open for writing");
  const int code = errno;
  throw Error(fmt::format("cannot open '{}': {}{}", path, std::strerror(code), hint(code, true)));
}

std::unique_ptr<File> File::scratch(const std::string &folder)
{
  std::string name = folder + "/.dptrain-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  std::unique_ptr<File> file(new File(name, descriptor, nullptr));
  if (descriptor < 0) file->fail("make a scratch file");
  ::unlink(name.c_str());
  return file;
}

File::~File()
{
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::fail(const char *action) const
{
  const int code = errno;
  throw Error(fmt::format("cannot {} '{}': {}{}", action, path_, std::strerror(code), hint(code)));
}

std::int64_t File::size() const
{
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) fail("inspect");
  return info.st_size;
}

void File::write(const void *data, std::size_t bytes, std::int64_t offset)
{
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    const ssize_t done = ::pwrite(descriptor_, next, bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write");
    next += done;
    offset += done;
    bytes -= done;
  }
}

std::size_t File::read(void *data, std::size_t bytes, std::int64_t offset) const
{
  char *next = static_cast<char *>(data);
  std::size_t total = 0;
  while (total < bytes) {
    const ssize_t done = ::pread(descriptor_, next + total, bytes - total, offset + total);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("read");
    if (done == 0) break;
    total += done;
  }
  return total;
}

void File::truncate(std::int64_t size)
{
  if (::ftruncate(descriptor_, size) != 0) fail("shorten");
}

void File::will_need(std::int64_t offset, std::size_t bytes) const
{
#ifdef POSIX_FADV_WILLNEED
  posix_fadvise(descriptor_, offset, static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
#endif
}

void File::sync()
{
  if (::fsync(descriptor_) != 0) fail("write to disk");
}

void expect_regular_file(const std::string &path)
{
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      throw Error(fmt::format("file '{}' does not exist; check the name", path));
    throw Error(
        fmt::format("cannot open '{}': {}{}", path, std::strerror(errno), hint(errno, true)));
  }
  if (S_ISDIR(info.st_mode)) throw Error(fmt::format("'{}' is a directory, expected a file", path));
  if (!S_ISREG(info.st_mode))
    throw Error(fmt::format("'{}' is not a regular file, expected one", path));
}

std::string read_file(const std::string &path)
{
  expect_regular_file(path);
  const File file(path, O_RDONLY);
  std::string bytes(file.size(), '\0');
  bytes.resize(file.read(bytes.data(), bytes.size(), 0));
  return bytes;
}

void write_file(const std::string &path, const std::string &bytes)
{
  File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  file.write(bytes.data(), bytes.size(), 0);
}

void sync_folder_of(const std::string &path)
{
  // some file systems do not know fsync of a folder: no reason to fail
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

std::vector<std::string> list_folder(const std::string &path)
{
  std::vector<std::string> names;
  try {
    for (const auto &item : std::filesystem::directory_iterator(path))
      names.push_back(item.path().filename().string());
  } catch (const std::filesystem::filesystem_error &error) {
    throw Error(fmt::format("cannot list the folder '{}': {}{}", path, error.code().message(),
                            hint(error.code().value(), true)));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string put_aside(const std::vector<std::string> &paths)
{
  std::string ending = ".old";
  const auto taken = [&](const std::string &path) {
    return std::filesystem::exists(path + ending);
  };
  for (int k = 2; std::any_of(paths.begin(), paths.end(), taken); ++k)
    ending = fmt::format(".old{}", k);
  for (const std::string &path : paths)
    if (std::filesystem::is_regular_file(path) &&
        std::rename(path.c_str(), (path + ending).c_str()) != 0)
      throw Error(fmt::format("The file {} of an earlier run cannot be renamed to {}{}: check the "
                              "permissions of its folder",
                              path, path, ending));
  return ending;
}

void make_folder(const std::string &path)
{
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code)
    throw Error(fmt::format("cannot create the folder '{}': {}{}", path, code.message(),
                            hint(code.value())));
}

void write_atomically(const std::string &path,
                      const std::function<void(const std::string &)> &write)
{
  // a link stays a link: its target is replaced
  std::error_code ignored;
  std::string target = path;
  if (std::filesystem::is_symlink(path, ignored)) {
    const auto real = std::filesystem::weakly_canonical(path, ignored);
    if (!ignored) target = real.string();
  }
  const auto name = std::filesystem::path(target).filename().string();
  const std::string temporary = fmt::format("{}/.{}.{}.tmp", folder_of(target), name, ::getpid());
  try {
    write(temporary);
    File(temporary, O_RDWR).sync();
    if (::rename(temporary.c_str(), target.c_str()) != 0)
      throw Error(
          fmt::format("cannot rename '{}': {}{}", temporary, std::strerror(errno), hint(errno)));
  } catch (const Error &error) {
    ::unlink(temporary.c_str());
    throw Error(fmt::format("cannot write '{}' (a previous file of this name is unchanged): {}",
                            path, error.what()));
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder_of(target);
}

}  // namespace dptrain
