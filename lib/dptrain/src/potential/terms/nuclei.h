#pragma once

#include <string>

namespace dptrain {

/// What the screened repulsion of the nuclei of two elements needs. What has no nucleus repels like a light atom.
struct Nuclei {
  double charges;    ///< Z_i Z_j e^2, eV Angstrom
  double screening;  ///< 1/Angstrom
};
Nuclei nuclei_of(const std::string &a, const std::string &b);

}  // namespace dptrain
