/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapter/dptrain_adapter.h"
#include "dptrain/uncertainty/model_deviation.h"
#include "lmptype.h"
#include "pointers.h"

namespace LAMMPS_NS {

/// What `pair_style dptrain` says about model deviations.
struct DeviationOptions {
  std::vector<std::string> files;  ///< of the committee's members beside the model of pair_coeff
  bigint every = 0;                ///< steps from one row of the file to the next; 0: no file
  std::string path = "model_devi.out";
  bool atomic = false;                         ///< the file has a column for each atom
  std::optional<double> relative, relative_v;  ///< levels, in LAMMPS' units of force and energy

  bool any() const { return every > 0 || !files.empty(); }
};

/// Writes model_devi.out.
class ModelDeviationOutput {
 public:
  ModelDeviationOutput(LAMMPS *lmp, std::shared_ptr<const dptrain::Communicator> comm) :
      lmp_(lmp), comm_(std::move(comm))
  {
  }
  /// Another file from the next open() on.
  void close() { file_.reset(); }
  /// Opens the file on rank 0 where it is not open; `append`: goes on in an existing one.
  /// Collective; throws dptrain::Error on all ranks.
  void open(const DeviationOptions &options, bool append);
  /// Adds a row for this time step. `atoms`: force deviations of the owned atoms [nlocal],
  /// `virial`: range of those of the virial, both in LAMMPS' units. Collective; throws
  /// dptrain::Error on all ranks.
  void write(const DeviationOptions &options, const std::vector<double> &atoms,
             const dptrain::DeviationRange &virial);

 private:
  LAMMPS *lmp_;
  std::shared_ptr<const dptrain::Communicator> comm_;
  std::unique_ptr<dptrain::ModelDeviationFile> file_;  // on rank 0

  bool warned_ = false;  // of atoms without a column

  void gather_by_id(const std::vector<double> &atoms, dptrain::ModelDeviationRow &row) const;
};

/// Force deviations of the owned atoms as the file shows them (relative or not), from the forces of
/// the models in eV/Angstrom; in LAMMPS' units.
std::vector<double> shown_force_deviation(const DeviationOptions &options, const UnitFactors &units,
                                          const std::vector<const double *> &forces, int nlocal);

/// The same for the virials of the models, of which each rank has a part, in eV. `natoms` of all
/// ranks. Collective.
dptrain::DeviationRange shown_virial_deviation(const DeviationOptions &options,
                                               const UnitFactors &units,
                                               const dptrain::Communicator &comm,
                                               std::vector<std::array<double, 9>> virials,
                                               bigint natoms);

}  // namespace LAMMPS_NS
