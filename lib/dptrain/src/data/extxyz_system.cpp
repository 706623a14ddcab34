#include "data/extxyz_system.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/text.h"
#include "base/text_words.h"
#include "data/extxyz_file.h"
#include "data/stored_array.h"
#include "dptrain/base/error.h"
#include "io/file.h"

namespace dptrain {

namespace {

ExtxyzIndex scan_file(const std::string &path)
{
  expect_regular_file(path);
  const File file(path, O_RDONLY);
  return scan_extxyz([&](char *data, std::size_t bytes,
                         std::int64_t offset) { return file.read(data, bytes, offset); },
                     path);
}

class ExtxyzSystem : public DataSystem {
 public:
  ExtxyzSystem(const std::string &path, const DataOptions &options) :
      path_(path), index_(scan_file(path))
  {
    for (std::size_t type = 0; type < options.type_map.size(); ++type) {
      const std::string &name = options.type_map[type];
      types_.emplace(name, static_cast<int>(type));
      types_.emplace(element_name(name, false), static_cast<int>(type));
    }
    for (std::size_t i = 0; i < index_.species.size(); ++i)
      if (types_.find(index_.species[i]) == types_.end())
        throw Error(fmt::format("{}: line {}: element {} is not in the type map ({}); leave the "
                                "file out, or use a type map, or a model, with this element",
                                path_, index_.species_lines[i], index_.species[i],
                                joined(options.type_map)));
    if (place_.granted()) file_ = std::make_unique<File>(path_, O_RDONLY);
  }

  const std::string &name() const override { return path_; }
  std::int64_t num_frames() const override
  {
    return static_cast<std::int64_t>(index_.frames.size());
  }
  std::int64_t natoms(std::int64_t frame) const override { return entry(frame).natoms; }
  bool same_atoms() const override { return index_.same_atoms; }

  WholeFrame read(std::int64_t frame) const override
  {
    const ExtxyzIndex::Entry &start = entry(frame);
    const std::int64_t end = frame + 1 < num_frames() ? entry(frame + 1).offset : index_.end;
    std::string text(static_cast<std::size_t>(end - start.offset), '\0');
    const std::size_t got =
        file_ ? file_->read(text.data(), text.size(), start.offset)
              : File(path_, O_RDONLY).read(text.data(), text.size(), start.offset);
    text.resize(got);
    WholeFrame whole = parse_extxyz_frame(text, start.line, path_, types_);
    whole.step = frame;
    return whole;
  }

  Label label_kinds(std::int64_t frame) const override
  {
    const LabelKinds &kinds = entry(frame).labels;
    Label label;
    if (kinds.energy) label.energy = 0.0;
    if (kinds.virial) label.virial.emplace();
    const std::pair<bool, std::vector<double> *> of_atoms[] = {
        {kinds.force, &label.force},
        {kinds.atom_energy, &label.atom_energy},
        {kinds.atom_pref, &label.atom_pref},
        {kinds.atom_ener_coeff, &label.atom_ener_coeff}};
    for (const auto &[there, values] : of_atoms)
      if (there) values->assign(1, 0.0);
    return label;
  }
  std::string place(std::int64_t frame) const override
  {
    return fmt::format("{}, line {}", DataSystem::place(frame), entry(frame).line);
  }
  std::string unread_label(const std::string &kind) const override
  {
    const UnreadLabels &unread = index_.unread;
    if (kind == "energies" && !unread.energy.empty())
      return fmt::format("the key {}: name it energy", shown(unread.energy));
    if (kind == "forces" && !unread.force.empty())
      return fmt::format("the columns {}: name them forces", shown(unread.force));
    if (kind == "virials" && !unread.virial.empty())
      return fmt::format("the key {}: name it virial or stress", shown(unread.virial));
    return "";
  }

 private:
  const ExtxyzIndex::Entry &entry(std::int64_t frame) const
  {
    require(frame);
    return index_.frames[static_cast<std::size_t>(frame)];
  }

  std::string path_;
  ExtxyzIndex index_;
  std::map<std::string, int, std::less<>> types_;
  OpenPlace place_;
  std::unique_ptr<const File> file_;
};

}  // namespace

std::shared_ptr<const DataSystem> open_extxyz_system(const std::string &path,
                                                     const DataOptions &options)
{
  return std::make_shared<ExtxyzSystem>(path, options);
}

std::vector<std::string> elements_of_extxyz(const std::string &path)
{
  return scan_file(path).species;
}

}  // namespace dptrain
