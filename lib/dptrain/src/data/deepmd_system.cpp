#include "data/deepmd_system.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "data/deepmd_layout.h"
#include "data/frame_values.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

class DeepmdSystem : public DataSystem {
 public:
  DeepmdSystem(std::string name, const SystemTree &tree, const DataOptions &options) :
      name_(std::move(name)), type_map_(options.type_map), layout_(tree, options)
  {
    for (const DataSet &set : layout_.sets) {
      first_frame_.push_back(num_frames_);
      num_frames_ += set.frames;
    }
    model_type_ = places_in(type_map_, layout_.names);
    if (layout_.names.empty())
      for (std::size_t type = 0; type < type_map_.size(); ++type)
        model_type_.push_back(static_cast<int>(type));
    if (!layout_.mixed) types_ = to_model(layout_.types);
  }

  const std::string &name() const override { return name_; }
  std::int64_t num_frames() const override { return num_frames_; }
  bool same_atoms() const override { return !layout_.mixed; }
  std::int64_t natoms(std::int64_t frame) const override;
  WholeFrame read(std::int64_t frame) const override;
  Label label_kinds(std::int64_t frame) const override;
  std::string place(std::int64_t frame) const override
  {
    const Place place = find(frame);
    const StoredArray *coord = place.set.get(Item::coord);
    return fmt::format("frame {} of {}", place.row, coord ? coord->path() : name_);
  }

 private:
  /// A frame's set and its row there.
  struct Place {
    const DataSet &set;
    std::int64_t row;
  };

  Place find(std::int64_t frame) const
  {
    require(frame);
    const auto next = std::upper_bound(first_frame_.begin(), first_frame_.end(), frame);
    const auto index = next - first_frame_.begin() - 1;
    return {layout_.sets[index], frame - first_frame_[index]};
  }

  std::vector<int> to_model(const std::vector<int> &types) const;
  std::vector<double> row_of(const Place &place, Item item,
                             const std::vector<std::size_t> &real) const;
  void read_labels(const Place &place, const std::vector<std::size_t> &real, Label &label) const;

  std::string name_;
  std::vector<std::string> type_map_;
  DeepmdLayout layout_;
  std::vector<int> model_type_;  // of each type of the data; -1: the model lacks it
  std::vector<int> types_;       // of the atoms, unless types are mixed
  std::vector<std::int64_t> first_frame_;
  std::int64_t num_frames_ = 0;
};

std::vector<int> DeepmdSystem::to_model(const std::vector<int> &types) const
{
  std::vector<int> mapped;
  mapped.reserve(types.size());
  for (const int type : types) {
    if (type < 0 || type >= static_cast<int>(model_type_.size()))
      throw Error(fmt::format("{}: found type {}, but there are only the types 0 to {}{}",
                              layout_.type_path, type, static_cast<int>(model_type_.size()) - 1,
                              layout_.names.empty() ? " of the model (there is no type_map.raw)"
                                                    : " of type_map.raw"));
    if (model_type_[type] < 0)
      throw Error(fmt::format("{}: element {} is not in the type map ({}); leave the system out, "
                              "or use a type map, or a model, with this element",
                              layout_.names_path, layout_.names[type], joined(type_map_)));
    mapped.push_back(model_type_[type]);
  }
  return mapped;
}

std::int64_t DeepmdSystem::natoms(std::int64_t frame) const
{
  if (!layout_.mixed) return static_cast<std::int64_t>(types_.size());
  const Place place = find(frame);
  const std::vector<int> types = layout_.real_types(place.set, place.row);
  return std::count_if(types.begin(), types.end(), [](int type) { return type >= 0; });
}

/// Numbers of one frame; with mixed types only those of the real atoms. Empty without the array.
std::vector<double> DeepmdSystem::row_of(const Place &place, Item item,
                                         const std::vector<std::size_t> &real) const
{
  const StoredArray *array = place.set.get(item);
  if (!array) return {};
  const std::int64_t width = layout_.width(item), rows = layout_.rows();
  std::vector<double> values(static_cast<std::size_t>(width));
  array->read_row(place.row, width, values.data());
  const bool atomic = DeepmdLayout::is_atomic(item);
  const auto per_atom = static_cast<std::size_t>(atomic ? width / rows : 0);
  if (atomic && layout_.mixed) {
    for (std::size_t i = 0; i < real.size(); ++i)
      std::copy_n(&values[real[i] * per_atom], per_atom, &values[i * per_atom]);
    values.resize(real.size() * per_atom);
  }
  expect_finite(values.data(), values.size(), per_atom,
                fmt::format("{}: frame {}", array->path(), place.row));
  return values;
}

void DeepmdSystem::read_labels(const Place &place, const std::vector<std::size_t> &real,
                               Label &label) const
{
  const auto energy = row_of(place, Item::energy, real), virial = row_of(place, Item::virial, real);
  if (!energy.empty()) label.energy = energy.front();
  if (!virial.empty()) std::copy_n(virial.begin(), 9, label.virial.emplace().begin());
  label.force = row_of(place, Item::force, real);
  label.atom_energy = row_of(place, Item::atom_energy, real);
  label.atom_pref = row_of(place, Item::atom_pref, real);
  label.atom_ener_coeff = row_of(place, Item::atom_ener_coeff, real);
  label.drdq = row_of(place, Item::drdq, real);
}

Label DeepmdSystem::label_kinds(std::int64_t frame) const
{
  const DataSet &set = find(frame).set;
  Label label;
  if (set.get(Item::energy)) label.energy = 0.0;
  if (set.get(Item::virial)) label.virial.emplace();
  const std::pair<Item, std::vector<double> *> of_atoms[] = {
      {Item::force, &label.force},
      {Item::atom_energy, &label.atom_energy},
      {Item::atom_pref, &label.atom_pref},
      {Item::atom_ener_coeff, &label.atom_ener_coeff},
      {Item::drdq, &label.drdq}};
  for (const auto &[item, values] : of_atoms)
    if (set.get(item)) values->assign(1, 0.0);
  return label;
}

WholeFrame DeepmdSystem::read(std::int64_t index) const
{
  const Place place = find(index);
  WholeFrame frame;
  frame.step = index;
  frame.periodic = layout_.periodic;
  std::vector<std::size_t> real;  // rows that are atoms
  if (layout_.mixed) {
    const std::vector<int> all = layout_.real_types(place.set, place.row);
    std::vector<int> types;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] >= 0) {
        real.push_back(i);
        types.push_back(all[i]);
      }
    if (real.empty())
      throw Error(fmt::format("{}: frame {} has no atom (all types are -1); remove the frame",
                              place.set.get(Item::real_types)->path(), place.row));
    frame.type = to_model(types);
  } else
    frame.type = types_;
  frame.coord = row_of(place, Item::coord, real);
  if (frame.periodic) {
    const auto box = row_of(place, Item::box, real);
    std::copy_n(box.begin(), 9, frame.box.begin());
    expect_volume(frame.box,
                  fmt::format("{}: frame {}", place.set.get(Item::box)->path(), place.row));
  }
  const auto charge = row_of(place, Item::charge, real);
  if (!charge.empty()) frame.charge = charge.front();
  const auto weight = row_of(place, Item::frame_weight, real);
  if (!weight.empty()) frame.label.frame_weight = weight.front();
  read_labels(place, real, frame.label);
  return frame;
}

}  // namespace

std::shared_ptr<const DataSystem>
open_deepmd_system(const std::string &name, const SystemTree &tree, const DataOptions &options)
{
  return std::make_shared<DeepmdSystem>(name, tree, options);
}

std::vector<std::string> elements_of_deepmd(const SystemTree &tree, const std::string &set_prefix)
{
  const DeepmdLayout layout(tree, {{}, set_prefix});
  if (layout.names.empty())
    throw Error(
        fmt::format("{}: missing; write it, with the name of the element of each type in type.raw",
                    layout.names_path));
  std::vector<bool> occurs(layout.names.size(), false);
  const auto mark = [&](const std::vector<int> &types) {
    for (const int type : types) {
      if (type >= static_cast<int>(occurs.size()) || (type < 0 && !layout.mixed))
        throw Error(
            fmt::format("{}: found type {}, but there are only the types 0 to {} of type_map.raw",
                        layout.type_path, type, occurs.size() - 1));
      if (type >= 0) occurs[type] = true;
    }
  };
  if (!layout.mixed) mark(layout.types);
  for (const DataSet &set : layout.sets)
    for (std::int64_t row = 0; layout.mixed && row < set.frames; ++row)
      mark(layout.real_types(set, row));
  std::vector<std::string> elements;
  for (std::size_t type = 0; type < occurs.size(); ++type)
    if (occurs[type]) elements.push_back(layout.names[type]);
  return elements;
}

}  // namespace dptrain
