/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// Declarations that LAMMPS does not install with its headers, and every difference between LAMMPS
// versions.
#pragma once

#include <string>

// -------------------------------------------------------------------------------------------------
// the plugin interface (LAMMPS manual, "Writing plugins"): plain C, the same in all versions

extern "C" {

typedef void *(*dptrain_factory1)(void *);
typedef void *(*dptrain_factory2)(void *, int, char **);

/// Makes a style: which of the two, LAMMPS prescribes for each kind.
union dptrain_factory {
  dptrain_factory1 v1;  ///< pair, bond, angle, dihedral, improper, kspace, command
  dptrain_factory2 v2;  ///< compute, fix, region
};

/// One style of a plugin, as LAMMPS' registration function reads it. The texts must live as long as
/// the plugin.
struct lammpsplugin_t {
  const char *version;
  const char *style;
  const char *name;
  const char *info;
  const char *author;
  dptrain_factory creator;
  void *handle;
};

typedef void (*lammpsplugin_regfunc)(lammpsplugin_t *, void *);

/// dptrain_styles.so's entry point: (LAMMPS, kind, name, refusal) -> the factory of a style. Null
/// where there is none, and where the styles cannot run in this LAMMPS: `refusal` then says why.
typedef dptrain_factory (*dptrain_find_factory)(void *, const char *, const char *, const char **);
}

// -------------------------------------------------------------------------------------------------
// neighbor list requests: neigh_request.h is not installed. The setters are public and not virtual,
// so declaring them is enough and does not depend on the layout of the class.

#if __has_include("neigh_request.h")
#include "neigh_request.h"
#else
namespace LAMMPS_NS {
class NeighRequest {
 public:
  void set_cutoff(double);
  void set_id(int);
  void enable_full();
  void enable_ghost();
};
}  // namespace LAMMPS_NS
#endif

// -------------------------------------------------------------------------------------------------
// atoms as they travel between ranks: atom_vec.h is not installed. The two functions belong to the
// base class, and no style without an accelerator has others; called by name, they do not depend on
// the layout of the class.

#if __has_include("atom_vec.h")
#include "atom_vec.h"
#else
namespace LAMMPS_NS {
class AtomVec {
 public:
  int pack_exchange(int, double *);
  int unpack_exchange(double *);
};
}  // namespace LAMMPS_NS
#endif

namespace LAMMPS_NS {
/// Neighbor lists that a pair style may ask for, with numbers from 0.
constexpr int MAX_LISTS = 4;
}  // namespace LAMMPS_NS
