// A system as a group of an HDF5 file.

#include <fmt/format.h>
#include <memory>

#include "data/stored_array.h"
#include "io/hdf5_file.h"

namespace dptrain {

namespace {

class Hdf5StoredArray : public StoredArray {
 public:
  Hdf5StoredArray(std::shared_ptr<const Hdf5File> file, const std::string &name) :
      file_(std::move(file)), name_(name), path_(file_->name() + "#" + name)
  {
    auto data = std::make_unique<const Hdf5Dataset>(*file_, name);
    shape_ = data->shape();
    if (place_.granted()) data_ = std::move(data);
  }
  const std::string &path() const override { return path_; }
  const std::vector<std::int64_t> &shape() const override { return shape_; }
  void read_row(std::int64_t row, std::int64_t width, double *values) const override
  {
    if (data_)
      data_->read(row * width, width, values);
    else
      Hdf5Dataset(*file_, name_).read(row * width, width, values);
  }

 private:
  std::shared_ptr<const Hdf5File> file_;
  std::string name_, path_;
  std::vector<std::int64_t> shape_;
  OpenPlace place_;
  std::unique_ptr<const Hdf5Dataset> data_;
};

class Hdf5Tree : public SystemTree {
 public:
  Hdf5Tree(const std::string &file, std::string group) :
      file_(std::make_shared<Hdf5File>(Hdf5File::on_disk(file))), group_(std::move(group))
  {
    while (group_.size() > 1 && group_.back() == '/') group_.pop_back();
    if (!file_->is_group(group_))
      file_->fail(fmt::format("there is no HDF5 group '{}'; check the name after #", group_));
  }
  std::string path_of(const std::string &name) const override
  {
    return file_->name() + "#" + inside(name);
  }
  std::vector<std::string> list(const std::string &folder) const override
  {
    return file_->list(inside(folder));
  }
  bool is_folder(const std::string &name) const override { return file_->is_group(inside(name)); }
  std::vector<std::string> words(const std::string &name) const override
  {
    return file_->words(inside(name));
  }
  std::shared_ptr<const StoredArray> array(const std::string &name) const override
  {
    return std::make_shared<Hdf5StoredArray>(file_, inside(name));
  }

 private:
  std::string inside(const std::string &name) const
  {
    if (name.empty()) return group_;
    return group_ == "/" ? group_ + name : group_ + "/" + name;
  }

  std::shared_ptr<const Hdf5File> file_;
  std::string group_;
};

}  // namespace

std::shared_ptr<const SystemTree> open_hdf5_tree(const std::string &file, const std::string &group)
{
  return std::make_shared<Hdf5Tree>(file, group.empty() ? "/" : group);
}

}  // namespace dptrain
