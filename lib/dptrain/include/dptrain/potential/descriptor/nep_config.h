#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/input/config.h"

namespace dptrain {

/// The descriptor of neuroevolution potentials (potential/descriptor/nep.h), with the keys of DeePMD-kit's. Its cutoff is the largest
/// radial one.
class NepConfig final : public DescriptorConfig {
 public:
  std::string type() const override { return "nep"; }
  std::unique_ptr<DescriptorConfig> clone() const override
  {
    return std::make_unique<NepConfig>(*this);
  }
  int size() const override { return n_max_radial + 1 + (n_max_angular + 1) * blocks(); }
  /// Of the numbers that the angular coefficients give, one for each channel in each.
  int blocks() const;
  bool nets_have_skips() const override { return false; }
  bool measures_distance() const override { return true; }
  const Keys<DescriptorConfig> &table() const override;
  void complete(JsonReader &section, ModelConfig &model) override;
  bool chooses_cutoff() const override { return true; }
  void follow_cutoff(double rcut) override;
  void follow_model(const ModelConfig &model) override;
  bool set_input_defaults(InputFile &input, bool in_a_run) const override;
  std::vector<std::string> ignored_keys() const override { return {"sel"}; }

  /// One number where all are the same.
  static std::vector<double> shortened(const std::vector<double> &cutoffs);
  static constexpr int most_n = 64;  ///< of n_max_radial and n_max_angular
  /// By type, of one number for all or one for each.
  static std::vector<double> cutoffs(const std::vector<double> &given, int ntypes);

  /// Angstrom; of all elements, or of each; empty: they follow the cutoff, which has not been chosen yet.
  std::vector<double> rcut_radial, rcut_angular;
  int n_max_radial = 6, n_max_angular = 6;              ///< radial functions of each pair, less one
  int basis_size_radial = 12, basis_size_angular = 12;  ///< Chebyshev functions of these, less one
  int l_max = 4;                                        ///< largest degree of three-body terms
  /// Terms of more bodies, by their degrees.
  bool has_222 = true, has_1111 = false, has_112 = false, has_123 = false, has_233 = false,
       has_134 = false;

 private:
  /// Sets those that follow the cutoff of the model.
  void set_cutoffs(double rcut);
  /// What does not go together; empty: nothing.
  std::string wrong_cutoff() const;

  bool radial_follows_ = false, angular_follows_ = false;  // the cutoff
};

/// The settings of a model with this descriptor. Throws Error if it has another one.
const NepConfig &nep(const ModelConfig &model);

}  // namespace dptrain
