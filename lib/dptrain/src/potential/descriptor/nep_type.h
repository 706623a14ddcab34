#pragma once

#include "potential/descriptor/descriptor_type.h"

namespace dptrain {

/// The descriptor of neuroevolution potentials.
class NepType final : public DescriptorType {
 public:
  std::vector<std::string> names() const override { return {"nep"}; }
  std::unique_ptr<DescriptorConfig> make_config() const override;
  DescriptorConstants constants(const ModelConfig &model, const Statistics &found) const override;
  bool has_scaler() const override { return true; }
  std::vector<double> scaler(const ModelConfig &model, const std::vector<double> &means,
                             const std::vector<double> &deviations) const override;
  void add_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks) const override;
  void draw(const ModelConfig &model, const ParameterBlock &block, RandomEngine &engine,
            double *values) const override;
  std::unique_ptr<Descriptor<double>> make_double(const ModelData &data) const override;
  std::unique_ptr<Descriptor<float>> make_single(const ModelData &data) const override;
};

}  // namespace dptrain
