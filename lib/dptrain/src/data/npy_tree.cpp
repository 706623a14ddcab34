// A system as a folder of .npy files.

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/text_words.h"
#include "data/npy.h"
#include "data/stored_array.h"
#include "dptrain/base/error.h"
#include "io/file.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;

class NpyStoredArray : public StoredArray {
 public:
  explicit NpyStoredArray(const std::string &path) : path_(path)
  {
    expect_regular_file(path);
    auto file = std::make_unique<File>(path, O_RDONLY);
    header_ = read_npy_header(*file);
    if (place_.granted()) file_ = std::move(file);
  }
  const std::string &path() const override { return path_; }
  const std::vector<std::int64_t> &shape() const override { return header_.shape; }
  void read_row(std::int64_t row, std::int64_t width, double *values) const override
  {
    if (file_)
      read_from(*file_, row * width, width, values);
    else
      read_from(File(path_, O_RDONLY), row * width, width, values);
  }

 private:
  void read_bytes(const File &file, std::int64_t index, std::int64_t count, char *bytes) const
  {
    const auto size = static_cast<std::int64_t>(header_.type.size);
    const auto wanted = static_cast<std::size_t>(count * size);
    if (file.read(bytes, wanted, header_.data + index * size) != wanted)
      throw Error(fmt::format(
          "{}: truncated since it was opened; start again, and leave a data set in use as it is",
          path_));
  }

  void read_from(const File &file, std::int64_t first, std::int64_t count, double *values) const
  {
    const NumberType &type = header_.type;
    if (type.kind == NumberType::Kind::floating && type.size == 8 && !type.swapped &&
        !by_column()) {
      read_bytes(file, first, count, reinterpret_cast<char *>(values));
      return;
    }
    std::vector<char> bytes(static_cast<std::size_t>(count) * type.size);
    if (!by_column())
      read_bytes(file, first, count, bytes.data());
    else
      for (std::int64_t i = 0; i < count; ++i)
        read_bytes(file, fortran_position(header_.shape, first + i), 1, &bytes[i * type.size]);
    decode_numbers(type, bytes.data(), static_cast<std::size_t>(count), values);
  }

  bool by_column() const { return header_.fortran_order && header_.shape.size() > 1; }

  std::string path_;
  NpyHeader header_;
  OpenPlace place_;
  std::unique_ptr<const File> file_;
};

class NpyTree : public SystemTree {
 public:
  explicit NpyTree(const std::string &folder) : folder_(folder) {}
  std::string path_of(const std::string &name) const override
  {
    return name.empty() ? folder_ : folder_ + "/" + name;
  }
  std::vector<std::string> list(const std::string &folder) const override
  {
    return list_folder(path_of(folder));
  }
  bool is_folder(const std::string &name) const override
  {
    std::error_code ignored;
    return fs::is_directory(path_of(name), ignored);
  }
  std::vector<std::string> words(const std::string &name) const override
  {
    return words_of(read_file(path_of(name)));
  }
  std::shared_ptr<const StoredArray> array(const std::string &name) const override
  {
    return std::make_shared<NpyStoredArray>(path_of(name));
  }

 private:
  std::string folder_;
};

}  // namespace

std::shared_ptr<const SystemTree> open_npy_tree(const std::string &folder)
{
  return std::make_shared<NpyTree>(folder);
}

}  // namespace dptrain
