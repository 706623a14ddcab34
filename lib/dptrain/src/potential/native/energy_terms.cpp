#include "dptrain/potential/model/model_data.h"
#include "potential/native/energy_term.h"
#include "potential/native/wall_term.h"

namespace dptrain {

template <class Real>
std::vector<std::unique_ptr<EnergyTerm<Real>>> make_energy_terms(const ModelData &data)
{
  std::vector<std::unique_ptr<EnergyTerm<Real>>> terms;
  if (!data.walls.empty()) terms.push_back(std::make_unique<WallTerm<Real>>(data));
  return terms;
}

template std::vector<std::unique_ptr<EnergyTerm<double>>> make_energy_terms(const ModelData &);
template std::vector<std::unique_ptr<EnergyTerm<float>>> make_energy_terms(const ModelData &);

}  // namespace dptrain
