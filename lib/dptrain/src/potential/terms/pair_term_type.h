#pragma once

#include "potential/terms/energy_term_type.h"
#include "potential/terms/pair_term.h"

namespace dptrain {

/// The kind of pair term without parameters whose settings are a Config, and whose terms are Term<Real>(data, config).
template <class Config, template <class> class Term>
class PairTermType final : public EnergyTermType {
 public:
  std::string name() const override { return Config().type(); }
  std::unique_ptr<EnergyTermConfig> make_config() const override
  {
    return std::make_unique<Config>();
  }
  std::unique_ptr<EnergyTerm<double>>
  make_double(const ModelData &data, const EnergyTermConfig &own,
              const std::vector<ParameterBlock> &) const override
  {
    return std::make_unique<Term<double>>(data, dynamic_cast<const Config &>(own));
  }
  std::unique_ptr<EnergyTerm<float>> make_single(const ModelData &data, const EnergyTermConfig &own,
                                                 const std::vector<ParameterBlock> &) const override
  {
    return std::make_unique<Term<float>>(data, dynamic_cast<const Config &>(own));
  }
};

}  // namespace dptrain
