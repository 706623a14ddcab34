/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// Decides whether the plugin may run inside the LAMMPS that loads it. Plain C++: no LAMMPS, no MPI
// headers.
#pragma once

#include <string>

namespace dptrain {

/// What a LAMMPS program and the plugin must agree on. One object describes the LAMMPS whose
/// headers the plugin was compiled with, the other the LAMMPS that is running.
struct LammpsFacts {
  int version = 0;              ///< release date as a number: 20250722
  int tagint_bytes = 0;         ///< size of an atom ID
  int bigint_bytes = 0;         ///< size of a number of atoms or steps
  int imageint_bytes = 0;       ///< size of the image flags
  std::string mpi_family;       ///< from mpi_family_of(); empty: LAMMPS was built without MPI
  bool mpi_initialized = true;  ///< the MPI library that the plugin calls is the one LAMMPS started
  bool kokkos_package = false;  ///< running: LAMMPS contains its KOKKOS package
  bool kokkos_shared = false;   ///< plugin: its Kokkos is a shared library, visible to all
};

/// The release as LAMMPS writes it: 20250722 -> "22 Jul 2025".
std::string version_date(int version);

/// Name of the MPI implementation in the text of MPI_Get_library_version. Libraries of one family
/// are binary compatible: "mpich" (also Intel MPI, MVAPICH, Cray), "openmpi"; otherwise the first
/// word.
std::string mpi_family_of(const std::string &library_version);

/// Compares the facts and returns an empty text when the plugin may register its styles, else one
/// message that says what differs, what was found and what to do.
std::string plugin_refusal(const LammpsFacts &compiled, const LammpsFacts &running);

}  // namespace dptrain
