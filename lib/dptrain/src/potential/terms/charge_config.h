#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/input/energy_term_config.h"
#include "potential/nets/networks.h"

namespace dptrain {

/// Settings of charges that act at all distances, see ChargeTerm.
class ChargeConfig final : public EnergyTermConfig {
 public:
  std::string type() const override { return "charges"; }
  std::unique_ptr<EnergyTermConfig> clone() const override
  {
    return std::make_unique<ChargeConfig>(*this);
  }
  double cutoff() const override { return 0.0; }
  bool is_single() const override { return true; }
  bool has_parameters() const override { return has_net(); }
  std::string text() const override;
  const Keys<EnergyTermConfig> &table() const override;
  void complete(JsonReader &section, const ModelConfig &model) override;

  void follow_cutoff(double rcut) override;
  bool may_become(const EnergyTermConfig &found) const override;
  bool is_searched() const override { return kind == "search"; }

  bool has_net() const { return kind == "environment"; }
  /// By type; those that are given, else usual ones, or none where a net adds to them: in molecules usual ones are far from right.
  std::vector<double> start(const std::vector<std::string> &elements) const;

  std::string kind = "search";
  std::map<std::string, double> values;  ///< e, by element
  std::vector<int> neuron{16};           ///< hidden layers of the nets
  std::optional<double> sigma;           ///< Angstrom; none: a fifth of the cutoff
  /// e, of a frame; none: that of each frame, 0 where it does not tell
  std::optional<double> total = 0.0;
};

/// The nets that add to the charge of an atom what its neighbors do, one for each type.
struct ChargeNets {
  std::string name;
  NetworkShape shape;
};
/// Those of a term, whose parameters have names that begin with `place`; none: it has no nets.
std::optional<ChargeNets> charge_nets_of(const ModelConfig &model, const EnergyTermConfig &own,
                                         const std::string &place);
/// Those of a model.
std::optional<ChargeNets> charge_nets(const ModelConfig &config);

/// The charges of a model; null: it has none.
const ChargeConfig *charges_of(const ModelConfig &config);
/// Of all atoms of a frame, e, which all frames of the model have; none: it has no charges, or each frame has its own.
std::optional<double> total_charge(const ModelConfig &config);
/// The charges of a model that a ChargeSearch has to find; null: there are none.
const ChargeConfig *searched_charges(const ModelConfig &config);

}  // namespace dptrain
