#include "potential/files/nep_elements.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/potential/descriptor/nep_config.h"
#include "dptrain/potential/native/deep_pot.h"
#include "input/model_keys.h"
#include "potential/terms/nep_zbl_config.h"

namespace dptrain {

namespace {

/// Of an array with one place for each type, those of the types that stay; of one for all nothing changes.
template <class T>
std::vector<T> of_types(const std::vector<T> &all, const std::vector<int> &kept, int ntypes)
{
  if (static_cast<int>(all.size()) != ntypes) return all;
  std::vector<T> some;
  for (const int type : kept) some.push_back(all[type]);
  return some;
}

/// Where the parameters of a block of the smaller model stand in the larger one: copies them.
class BlockCopy {
 public:
  BlockCopy(const ModelData &from, std::vector<int> kept) :
      from_(from), kept_(std::move(kept)), blocks_(parameter_index(from.config))
  {
  }
  void copy(const ParameterBlock &block, double *to) const
  {
    const std::string types_of[] = {"/model/descriptor/@variables/c_radial",
                                    "/model/descriptor/@variables/c_angular",
                                    "/model/fitting/nets/networks/"};
    for (const std::string &prefix : types_of) {
      if (!block.name.starts_with(prefix)) continue;
      const std::size_t end = std::min(block.name.find('/', prefix.size()), block.name.size());
      const int type = std::stoi(block.name.substr(prefix.size(), end - prefix.size()));
      const std::string name = prefix + std::to_string(kept_[type]) + block.name.substr(end);
      const bool is_net = prefix == types_of[2];
      return is_net ? copy_all(name, block, to) : copy_columns(name, block, to);
    }
    copy_all(block.name, block, to);
  }

 private:
  const ParameterBlock &find(const std::string &name) const
  {
    return *std::find_if(blocks_.begin(), blocks_.end(),
                         [&](const ParameterBlock &block) { return block.name == name; });
  }
  void copy_all(const std::string &name, const ParameterBlock &block, double *to) const
  {
    std::copy_n(&from_.parameters[find(name).offset], block.size, to);
  }
  // of coefficients [channels][types of neighbors][functions]
  void copy_columns(const std::string &name, const ParameterBlock &block, double *to) const
  {
    const ParameterBlock &all = find(name);
    const std::int64_t functions = all.shape[1] / from_.config.ntypes();
    for (std::int64_t n = 0; n < block.shape[0]; ++n)
      for (std::size_t k = 0; k < kept_.size(); ++k)
        std::copy_n(&from_.parameters[all.offset + n * all.shape[1] + kept_[k] * functions],
                    functions, to + n * block.shape[1] + static_cast<std::int64_t>(k) * functions);
  }

  const ModelData &from_;
  const std::vector<int> kept_;
  const std::vector<ParameterBlock> blocks_;
};

}  // namespace

void keep_elements(ModelData &data, const std::vector<std::string> &elements)
{
  const auto *descriptor = dynamic_cast<const NepConfig *>(data.config.descriptor.get());
  const auto &terms = data.config.terms;
  const bool is_plain = data.metric.empty() && data.walls.empty() &&
                        data.config.pair_exclude_types.empty() &&
                        data.config.atom_exclude_types.empty() && data.config.baseline.empty() &&
                        std::all_of(terms.begin(), terms.end(),
                                    [](const auto &term) { return is_nep_zbl(*term.get()); });
  if (!descriptor || !is_plain) return;
  const std::vector<std::string> &all = data.config.type_map;
  const std::vector<int> kept = places_in(all, elements);
  if (std::find(kept.begin(), kept.end(), -1) != kept.end()) return;
  if (kept.empty() || elements == all) return;

  const int ntypes = data.config.ntypes();
  ModelData some = data;
  ModelConfig &config = some.config;
  config.type_map = of_types(all, kept, ntypes);
  config.atom_ener = of_types(data.config.atom_ener, kept, ntypes);
  NepConfig settings = *descriptor;
  settings.rcut_radial = NepConfig::shortened(of_types(descriptor->rcut_radial, kept, ntypes));
  settings.rcut_angular = NepConfig::shortened(of_types(descriptor->rcut_angular, kept, ntypes));
  config.rcut = *std::max_element(settings.rcut_radial.begin(), settings.rcut_radial.end());
  config.descriptor = settings.clone();
  some.out_bias = of_types(data.out_bias, kept, ntypes);
  some.bias_atom_e = of_types(data.bias_atom_e, kept, ntypes);
  const std::vector<ParameterBlock> blocks = parameter_index(config);
  some.parameters.assign(blocks.back().offset + blocks.back().size, 0.0);
  const BlockCopy copy(data, kept);
  for (const ParameterBlock &block : blocks) copy.copy(block, &some.parameters[block.offset]);
  some.model_def_script = written_model(config).dump();
  data = std::move(some);
}

}  // namespace dptrain
