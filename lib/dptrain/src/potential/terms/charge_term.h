#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "potential/terms/energy_term_type.h"

namespace dptrain {

/// Charges of the atoms, by element, that act on each other at all distances, see ReciprocalSum. At small distances they are smeared: what is
/// left there is a matter of the net.
std::unique_ptr<const EnergyTermType> make_charge_type();

/// Settings of such a term with these charges, e by type, which stay.
AnyEnergyTermConfig fixed_charges(const std::vector<std::string> &elements,
                                  const std::vector<double> &charges);
/// The oxidation number that an element has in most of its compounds; none: there is no such.
std::optional<double> usual_oxidation_number(const std::string &element);

}  // namespace dptrain
