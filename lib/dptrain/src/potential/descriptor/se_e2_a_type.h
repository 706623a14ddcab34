#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/nets/networks.h"

namespace dptrain {

/// DeePMD-kit's se_e2_a: its embedding nets as parameters, davg and dstd [ntypes][4] (the same for all slots) as constants,
/// and its place in DeePMD-kit's model files.
class SeE2AType final : public DescriptorType {
 public:
  std::vector<std::string> names() const override { return {"se_e2_a", "se_a"}; }
  std::unique_ptr<DescriptorConfig> make_config() const override;
  StatisticsSettings statistics(const ModelConfig &model) const override;
  void complete(ModelConfig &model, const Statistics &found, double margin) const override;
  DescriptorConstants constants(const ModelConfig &model, const Statistics &found) const override;
  bool is_zero_alone(const ModelData &data) const override;
  void add_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks) const override;
  void draw(const ModelConfig &model, const ParameterBlock &block, RandomEngine &engine,
            double *values) const override;
  std::unique_ptr<Descriptor<double>> make_double(const ModelData &data) const override;
  std::unique_ptr<Descriptor<float>> make_single(const ModelData &data) const override;
  Tree write(TreeWriter &writer, const ModelData &data,
             const std::vector<ParameterBlock> &blocks) const override;
  void read(TreeReader &reader, JsonReader &section, ModelData &data) const override;
  void complete_definition(const ModelConfig &model, Tree &section) const override;

  /// The embedding nets, in the order of files: by type of the neighbor, or center + neighbor * ntypes.
  static std::vector<Mlp> nets(const ModelConfig &model);
};

}  // namespace dptrain
