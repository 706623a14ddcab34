#pragma once

#include <string>

namespace dptrain {

/// Symbol of a chemical element, 1 (H) to 118 (Og); empty for other numbers.
std::string element_symbol(int number);
/// The number of a symbol; 119 where it is not one.
int atomic_number(const std::string &symbol);
/// Covalent radius, Angstrom; 0 where the symbol is not that of an element up to curium. Source: B. Cordero et al., Dalton Trans. 2832
/// (2008), low spin.
double covalent_radius(const std::string &symbol);

}  // namespace dptrain
