#pragma once

#include <memory>

#include "potential/terms/energy_term_type.h"

namespace dptrain {

/// The term "zbl": the universal screened repulsion of the nuclei (ZBL), as pair_style zbl of LAMMPS has it.
std::unique_ptr<const EnergyTermType> make_zbl_type();

}  // namespace dptrain
