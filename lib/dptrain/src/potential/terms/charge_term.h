#pragma once

#include <memory>

#include "potential/terms/energy_term_type.h"

namespace dptrain {

/// Charges of the atoms that act on each other at all distances, see ReciprocalSum. At small distances they are smeared: what is left
/// there is a matter of the net. An element has a charge, to which a second net of the descriptor may add what the neighbors of an
/// atom do to it.
std::unique_ptr<const EnergyTermType> make_charge_type();

}  // namespace dptrain
