#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/input/config.h"

namespace dptrain {

/// DeePMD-kit's descriptor se_e2_a. Defaults are those of its input file.
class SeE2AConfig final : public DescriptorConfig {
 public:
  std::string type() const override { return "se_e2_a"; }
  std::unique_ptr<DescriptorConfig> clone() const override
  {
    return std::make_unique<SeE2AConfig>(*this);
  }
  bool is_in_deepmd() const override { return true; }
  int size() const override { return neuron.back() * axis_neuron; }
  const Keys<DescriptorConfig> &table() const override;
  void complete(JsonReader &section, ModelConfig &model) override;
  std::vector<int> neighbor_limits() const override { return sel; }
  bool needs_neighbor_counts() const override { return sel.empty(); }

  double rcut_smth = 0.5;            ///< Angstrom
  std::vector<int> sel;              ///< empty: from statistics, largest count times sel_factor
  std::optional<double> sel_factor;  ///< "auto:F"
  std::vector<int> neuron{10, 20, 40};
  int axis_neuron = 4;
  std::string activation = "tanh";
  bool resnet_dt = false;
  bool type_one_side = false;
  std::vector<std::array<int, 2>> exclude_types;
  double env_protection = 0.0;
  bool set_davg_zero = false;
};

/// The settings of a model with this descriptor. Throws Error if it has another one.
SeE2AConfig &se_e2_a(ModelConfig &model);
const SeE2AConfig &se_e2_a(const ModelConfig &model);

}  // namespace dptrain
