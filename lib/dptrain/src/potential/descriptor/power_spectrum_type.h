#pragma once

#include <memory>
#include <string>
#include <vector>

#include "potential/descriptor/descriptor_type.h"

namespace dptrain {

/// The power spectrum, see PowerSpectrum. Its parameters are one matrix c [n_max][types * n_basis] for each type of centers.
class PowerSpectrumType final : public DescriptorType {
 public:
  std::vector<std::string> names() const override { return {"power_spectrum"}; }
  std::unique_ptr<DescriptorConfig> make_config() const override;
  DescriptorConstants constants(const ModelConfig &model, const Statistics &found) const override;
  bool has_walls() const override { return true; }
  int version() const override { return 3; }
  // before, amplitudes of the radial basis were others
  int oldest_version() const override { return 3; }
  void complete_definition(const ModelConfig &model, Tree &section) const override
  {
    section["rcut"] = model.rcut;  // that of the structure
  }
  void add_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks) const override;
  void draw(const ModelConfig &model, const ParameterBlock &block, RandomEngine &engine,
            double *values) const override;
  std::unique_ptr<Descriptor<double>> make_double(const ModelData &data) const override;
  std::unique_ptr<Descriptor<float>> make_single(const ModelData &data) const override;
};

}  // namespace dptrain
