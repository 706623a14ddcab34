/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "plugin/plugin_guard.h"

namespace dptrain {

namespace {

const char *const kRebuild = "Rebuild dptrain with the headers of this LAMMPS (manual, "
                             "Build_dptrain), or take its folder out of LAMMPS_PLUGIN_PATH";

std::string refuse(const std::string &what)
{
  return "dptrainplugin.so cannot be used with this LAMMPS: " + what + ". " + kRebuild;
}

std::string describe_sizes(const LammpsFacts &facts)
{
  return "tagint " + std::to_string(facts.tagint_bytes) + ", bigint " +
         std::to_string(facts.bigint_bytes) + ", imageint " + std::to_string(facts.imageint_bytes) +
         " bytes";
}

bool same_sizes(const LammpsFacts &a, const LammpsFacts &b)
{
  return a.tagint_bytes == b.tagint_bytes && a.bigint_bytes == b.bigint_bytes &&
         a.imageint_bytes == b.imageint_bytes;
}

}  // namespace

std::string version_date(int version)
{
  static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const int month = version / 100 % 100;
  if (month < 1 || month > 12) return std::to_string(version);
  return std::to_string(version % 100) + " " + months[month - 1] + " " +
         std::to_string(version / 10000);
}

std::string mpi_family_of(const std::string &library_version)
{
  for (const char *name : {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"})
    if (library_version.find(name) != std::string::npos) return "mpich";
  if (library_version.find("Open MPI") != std::string::npos) return "openmpi";
  return library_version.substr(0, library_version.find_first_of(" \n"));
}

std::string plugin_refusal(const LammpsFacts &compiled, const LammpsFacts &running)
{
  if (compiled.version != running.version)
    return refuse("it was built for LAMMPS version " + version_date(compiled.version) +
                  ", this is version " + version_date(running.version));
  if (!same_sizes(compiled, running))
    return refuse("the integer sizes differ: built for " + describe_sizes(compiled) +
                  ", this LAMMPS has " + describe_sizes(running));
  if (running.mpi_family.empty()) return refuse("it was built with MPI, this LAMMPS without");
  if (compiled.mpi_family != running.mpi_family)
    return refuse("it was built with the MPI library " + compiled.mpi_family +
                  ", this LAMMPS runs with " + running.mpi_family);
  if (!running.mpi_initialized)
    return refuse("it is linked with another copy of the MPI library " + compiled.mpi_family +
                  " than the one LAMMPS has started");
  if (compiled.kokkos_shared && running.kokkos_package)
    return refuse("this LAMMPS contains its KOKKOS package and dptrain was built with the system's "
                  "shared Kokkos library, two Kokkos versions in one process crash; build with "
                  "-DDPTRAIN_KOKKOS=download");
  return "";
}

}  // namespace dptrain
