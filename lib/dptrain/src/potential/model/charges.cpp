#include "dptrain/potential/model/charges.h"

#include <cstddef>

namespace dptrain {

std::vector<double> Charges::in_frame(const std::vector<double> &counts, double total) const
{
  double missing = total, atoms = 0.0;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    missing -= counts[type] * by_type[type];
    atoms += counts[type];
  }
  std::vector<double> result = by_type;
  if (atoms > 0.0)
    for (double &charge : result) charge += missing / atoms;
  return result;
}

}  // namespace dptrain
