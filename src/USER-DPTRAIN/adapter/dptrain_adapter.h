/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/error.h"
#include "dptrain/base/units.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/parallel/device.h"
#include "error.h"
#include "exceptions.h"
#include "lmptype.h"
#include "pointers.h"

namespace LAMMPS_NS {

using dptrain::ModelInUse;
using dptrain::ModelSettings;
using dptrain::UnitFactors;

/// Factors of the current `units` style, from LAMMPS' own constants. Error for `units lj`. `who`
/// starts the message.
UnitFactors unit_factors(LAMMPS *lmp, const std::string &who);

/// The communicator of this LAMMPS instance (its `world`) for the library.
std::shared_ptr<const dptrain::Communicator> world_communicator(LAMMPS *lmp);

/// Starts the kernels of this rank on its device and with its share of the node's cores, once in a
/// process; logs GPUs, and how many threads the ranks have where they have more than one.
/// Collective.
void start_kernels(LAMMPS *lmp, const std::string &who, const dptrain::DeviceRequest &device = {});

/// Runs commands of LAMMPS that may end in error->one: the abort that follows waits until the text
/// is on the screen, where it would come first otherwise.
void with_text_before_abort(const std::function<void()> &work);

/// error->one for a failure that several ranks may find at the same time: the lowest rank speaks
/// first, and its text gets the time to arrive before the abort.
[[noreturn]] void stop_all_ranks(LAMMPS *lmp, const std::string &message);

/// Calls collective library code. An Error, on which the ranks agree by then, becomes error->all;
/// any other exception (memory, LibTorch) may be that of one rank only and becomes error->one.
template <class Work> auto collective(LAMMPS *lmp, const std::string &who, Work &&work)
{
  std::string message;
  try {
    return std::forward<Work>(work)();
  } catch (const dptrain::Error &e) {
    message = who + ": " + e.what();
  } catch (const LAMMPSException &) {
    throw;
  } catch (const std::exception &e) {
    stop_all_ranks(lmp, who + ": " + e.what());
  }
  lmp->error->all(FLERR, message);
}

/// Calls library code that other ranks do not wait for; an exception of this rank becomes
/// error->one, which stops all ranks.
template <class Work> auto local(LAMMPS *lmp, const std::string &who, Work &&work)
{
  std::string message;
  try {
    return std::forward<Work>(work)();
  } catch (const LAMMPSException &) {
    throw;
  } catch (const std::exception &e) {
    message = who + ": " + e.what();
  }
  stop_all_ranks(lmp, message);
}

/// Values [nlocal][width] of the owned atoms as one array on all ranks, in order of the tags of the
/// atoms. Collective.
std::vector<double> gather_by_tag(LAMMPS *lmp, const double *values, int width);

/// Edges of the box of this LAMMPS instance, rows, in Angstrom.
std::array<double, 9> box_edges(LAMMPS *lmp, const UnitFactors &units);

/// The atoms of this LAMMPS instance as one frame, the same on all ranks, in order of their tags:
/// wrapped coordinates relative to the box corner, in Angstrom. `model_type` maps atom types
/// [ntypes + 1] to model types. Periodic in no dimension: a frame without cell. Periodic in some:
/// the others get an edge so long that images are out of reach of `cutoff` (Angstrom). The label is
/// left empty. `tags`, if given, gets the atoms' tags. Atoms of `hidden_groups` (bits) have the
/// type -1. Collective.
dptrain::WholeFrame gather_atoms(LAMMPS *lmp, const std::vector<int> &model_type, double cutoff,
                                 const UnitFactors &units, std::vector<tagint> *tags = nullptr,
                                 int hidden_groups = 0);

/// Chooses the cutoff of a new model whose input leaves it to the structure, by the present atoms.
/// Returns what to tell the user. Collective.
std::string cutoff_by_atoms(LAMMPS *lmp, const std::string &who, ModelInUse &slot);

/// Where LAMMPS finds a model: in the present folder, or in those of LAMMPS_POTENTIALS. `who`
/// begins the message where it is in none of them.
std::string find_model(LAMMPS *lmp, const std::string &who, const std::string &file);

/// Writes what loading a model has found out about it to screen and log.
void tell_of_model(LAMMPS *lmp, const std::string &who, const ModelInUse &slot);

/// Adds the forces [nall][3] on ghost atoms to their owners: communication of the fix that owns who
/// calls it.
using FoldGhosts = std::function<void(double *)>;

}  // namespace LAMMPS_NS
