// In place of a header that an installation of LAMMPS 4 Jul 2026 leaves out, although its variable.h includes it. The class is a
// member of one that is not used here.
#pragma once

#include <cstdio>

namespace LAMMPS_NS {
class SafeFilePtr {
  FILE *fp;
  bool use_pclose;
};
}  // namespace LAMMPS_NS
