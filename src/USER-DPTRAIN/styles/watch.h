/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>

#include "adapter/dptrain_adapter.h"
#include "dptrain/labels/spool_source.h"
#include "dptrain/models/model_in_use.h"
#include "pointers.h"

namespace LAMMPS_NS {

class NeighList;

/// What the keyword `watch` of `pair_style dptrain` says.
struct WatchOptions {
  bigint every = 100;  ///< steps between two looks; 0: none
  std::string folder;  ///< where configurations outside go, as requests of a spool; empty: nowhere
  bool stops = false;  ///< the first of them ends the run
};

/// Looks in a run with a potential that nobody trains whether it is inside of what was learned:
/// whether error bars of atoms, and distances of pairs, are such as the model knows them. Warns at
/// the first configuration that is not, and says at the end what there was. Collective.
class Watch : protected Pointers {
 public:
  Watch(LAMMPS *lmp, std::shared_ptr<const dptrain::Communicator> comm);

  WatchOptions options;

  /// Says once of a model what cannot be watched.
  void begin_run(const ModelInUse &slot);
  /// Whether the configuration of this step is looked at.
  bool is_due() const;
  /// Of each evaluation: the pair that is deepest in its wall on this rank.
  void note(const dptrain::WallContact &contact);
  /// `bars` [nlocal] as the model gives them, of atoms of its types `type` [nlocal]; null: it has
  /// none. `list`: of the host; null: it has none.
  void look(const ModelInUse &slot, const double *bars, const int *type, const NeighList *list);
  /// The line at the end of a run.
  void end_run(const ModelInUse &slot);

 private:
  /// What is known of a configuration, on all ranks.
  struct Sight {
    double bar = 0.0;                            // largest one, eV/Angstrom
    tagint atom = 0;                             // which has it
    double atom_ratio = 0.0, frame_ratio = 0.0;  // of distances to what is known
    dptrain::WallContact contact;                // since the look before
    bigint contact_step = 0;
    bool is_outside() const;
  };
  Sight see(const ModelInUse &slot, const double *bars, const int *type);
  void forget();
  void tell(const ModelInUse &slot) const;
  void warn(const ModelInUse &slot, const Sight &sight, const NeighList *list);
  void keep(const ModelInUse &slot);
  std::string closest_pair(const ModelInUse &slot, const Sight &sight, const NeighList *list) const;
  std::string text_of(const ModelInUse &slot, const dptrain::WallContact &contact) const;

  std::shared_ptr<const dptrain::Communicator> world_;
  UnitFactors units_;
  std::unique_ptr<dptrain::SpoolSource> spool_;
  int told_of_ = -1;              // ModelInUse::generation() of the model that a message was about
  dptrain::WallContact contact_;  // since the latest look
  bigint contact_step_ = 0;
  // of the present run
  bigint looks_ = 0, outside_ = 0, latest_ = -1, kept_ = 0;
  bool was_outside_ = false;
  double kept_ratio_ = 0.0;
  Sight worst_;
  bigint worst_step_ = 0, closest_step_ = 0;
  dptrain::WallContact closest_;
};

}  // namespace LAMMPS_NS
