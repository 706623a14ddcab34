#include "potential/descriptor/descriptor_type.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "potential/descriptor/nep_type.h"
#include "potential/descriptor/power_spectrum_type.h"
#include "potential/descriptor/se_e2_a_type.h"

namespace dptrain {

namespace {

using Types = std::vector<std::unique_ptr<const DescriptorType>>;

Types made_here()
{
  Types types;
  types.push_back(std::make_unique<PowerSpectrumType>());
  types.push_back(std::make_unique<SeE2AType>());
  types.push_back(std::make_unique<NepType>());
  return types;
}

/// All kinds there are.
Types &descriptor_types()
{
  static Types types = made_here();
  return types;
}

}  // namespace

const DescriptorType *find_descriptor_type(const std::string &name)
{
  for (const auto &type : descriptor_types()) {
    const auto names = type->names();
    if (std::find(names.begin(), names.end(), name) != names.end()) return type.get();
  }
  return nullptr;
}

const DescriptorType &descriptor_type(const ModelConfig &model)
{
  if (!model.descriptor) throw internal_error("The model has no descriptor");
  if (const DescriptorType *type = find_descriptor_type(model.descriptor->type())) return *type;
  throw Error(fmt::format("The descriptor {} is not known: use one of {}", model.descriptor->type(),
                          descriptor_type_names()));
}

void add_descriptor_type(std::unique_ptr<const DescriptorType> type)
{
  descriptor_types().push_back(std::move(type));
}

std::unique_ptr<DescriptorConfig> make_descriptor_config(const std::string &name)
{
  const DescriptorType *type = find_descriptor_type(name);
  return type ? type->make_config() : nullptr;
}

std::string descriptor_type_names()
{
  std::string all;
  for (const auto &type : descriptor_types())
    all += (all.empty() ? "\"" : ", \"") + type->names().front() + "\"";
  return all;
}

StatisticsSettings DescriptorType::statistics(const ModelConfig &model) const
{
  StatisticsSettings settings;
  settings.rcut = model.rcut;
  settings.excluded = model.pair_exclude_types;
  return settings;
}

Tree DescriptorType::write(TreeWriter &writer, const ModelData &data,
                           const std::vector<ParameterBlock> &blocks) const
{
  Tree section{{"@class", "Descriptor"}, {"@version", version()}};
  section.update(Tree::parse(data.config.descriptor->keys(data.config)));
  const bool single = data.config.descriptor->precision == "float32";
  const std::string place = "/model/descriptor";
  for (const auto &block : blocks)
    if (block.name.starts_with(place + "/"))
      section[Tree::json_pointer(block.name.substr(place.size()))] =
          writer.add(data.parameters.data() + block.offset, block.shape, single);
  Tree constants = Tree::object();
  for (const auto &[name, values] : data.descriptor_constants)
    constants[name] = writer.add(values.data(), {static_cast<std::int64_t>(values.size())}, false);
  section["constants"]["@variables"] = constants;
  return section;
}

void DescriptorType::read(TreeReader &reader, JsonReader &section, ModelData &data) const
{
  check_version(section, oldest_version(), version(),
                "use the version of the package that wrote it, or train it again");
  data.config.descriptor->read(section, data.config);
  JsonReader constants = section.section("constants").section("@variables");
  for (const std::string &name : constants.keys())
    data.descriptor_constants[name] = reader.array(constants, name);
}

}  // namespace dptrain
