#pragma once

#include <memory>

#include "potential/terms/energy_term_type.h"

namespace dptrain {

/// The term "table": energies of pairs by distance, from a file of LAMMPS' pair_style table.
std::unique_ptr<const EnergyTermType> make_table_type();

}  // namespace dptrain
