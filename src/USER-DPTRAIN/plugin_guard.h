// Decides whether the plugin may run inside the LAMMPS that loads it. Plain C++: no LAMMPS, no MPI headers.
#pragma once

#include <string>

namespace dptrain {

/// What a LAMMPS program and the plugin must agree on. One object describes the LAMMPS whose headers the plugin was
/// compiled with, the other the LAMMPS that is running.
struct LammpsFacts {
  std::string version_date;  ///< "22 Jul 2025"
  int version_number = 0;    ///< 20250722
  int tagint_bytes = 0;      ///< size of an atom ID
  int bigint_bytes = 0;      ///< size of a number of atoms or steps
  int imageint_bytes = 0;    ///< size of the image flags
  std::string mpi_family;    ///< from mpi_family_of(); empty: LAMMPS was built without MPI
  bool mpi_initialized =
      true;  ///< the MPI library that the plugin calls is the one that LAMMPS started
  bool kokkos_package = false;  ///< running: LAMMPS contains its KOKKOS package
  bool kokkos_shared = false;   ///< plugin: uses a Kokkos library whose symbols are visible to all
};

/// Name of the MPI implementation in the text of MPI_Get_library_version. Libraries of one family are binary
/// compatible: "mpich" (also Intel MPI, MVAPICH, Cray), "openmpi"; otherwise the first word of the text.
std::string mpi_family_of(const std::string &library_version);

/// Compares the facts and returns an empty text when the plugin may register its styles, else one message that says
/// what differs, what was found and what to do.
std::string plugin_refusal(const LammpsFacts &compiled, const LammpsFacts &running);

}  // namespace dptrain
