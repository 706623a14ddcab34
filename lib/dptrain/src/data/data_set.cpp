#include "dptrain/data_set.h"

#include "dptrain/error.h"

namespace dptrain {

namespace {

/// A folder in npy format, all frames in memory.
class NpySystem : public DataSystem {
 public:
  NpySystem(const std::string &path, const DataOptions &options) :
      name_(path), frames_(read_npy_system(path, options.type_map))
  {
  }
  const std::string &name() const override { return name_; }
  std::int64_t num_frames() const override { return static_cast<std::int64_t>(frames_.size()); }
  std::int64_t natoms(std::int64_t frame) const override
  {
    return static_cast<std::int64_t>(frames_.at(frame).type.size());
  }
  bool same_atoms() const override { return true; }
  WholeFrame read(std::int64_t frame) const override { return frames_.at(frame); }

 private:
  std::string name_;
  std::vector<WholeFrame> frames_;
};

}  // namespace

std::shared_ptr<const DataSystem> open_system(const std::string &path, const DataOptions &options)
{
  return std::make_shared<NpySystem>(path, options);
}

std::vector<std::string> find_systems(const std::vector<std::string> &systems,
                                      const std::vector<std::string> & /*rglob_patterns*/,
                                      const std::string &base)
{
  std::vector<std::string> found;
  for (const std::string &name : systems)
    found.push_back(name[0] == '/' || base.empty() ? name : base + "/" + name);
  return found;
}

}  // namespace dptrain
