/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// What pair style dptrain keeps between its functions, for the files that implement it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapter/dptrain_adapter.h"
#include "dptrain/models/committee.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/potential/model/evaluator.h"
#include "nested/baseline_pairs.h"
#include "nested/charge_kspace.h"
#include "styles/exclusions.h"
#include "styles/model_deviation.h"
#include "styles/pair_dptrain.h"
#include "styles/restart_data.h"
#include "styles/watch.h"

namespace LAMMPS_NS {

struct PairDPTrain::Data {
  Data(LAMMPS *lmp) :
      comm(world_communicator(lmp)), exclusions(lmp), watch(lmp, comm), output(lmp, comm)
  {
  }
  std::shared_ptr<const dptrain::Communicator> comm;
  std::shared_ptr<ModelInUse> slot;
  std::unique_ptr<dptrain::Evaluator> evaluator;
  UnitFactors units;
  std::unique_ptr<BaselinePairs> baseline;  // null: the potential has none
  std::string kspace = "auto";              // of charges: auto, no or a kspace_style
  std::unique_ptr<ChargeKSpace> kspace_of_charges;
  bool warned_of_mesh = false;
  bool begins_run = false;  // init_style() has been called, init_one() not yet
  Exclusions exclusions;    // of the last compute()
  std::vector<int> type;    // [nall] model types; -1: not there for the model
  int first_type = 0;       // the lowest model type of all atoms
  std::vector<int> owner;   // [nall] owned atom of each, where the model needs to know
  std::vector<double> x;    // [nall][3] Angstrom, only where LAMMPS has another length unit
  std::vector<double> results[NUM_RESULTS];  // eV, Angstrom
  // What the latest evaluation gave; the same on all ranks.
  struct {
    bool atom_energy = false, atom_virial = false;
    bool has_bars = false;  // the model has them
    bool charges = false;   // ditto
    bool bars = false;      // they were evaluated, by:
    dptrain::ErrorBars known;
    std::uint64_t known_version = 0;
    bigint step = -1;
    int nlocal = 0, nghost = 0;
  } found;
  Watch watch;
  bool watches_now = false;      // at this step
  std::vector<double> rescaled;  // bars, where their scale has changed since they were evaluated
  bool asks_for_bars = false;    // somebody who was not expected at this step
  std::vector<double> features;  // [ntypes][H] sums over the owned atoms
  Sums sums;                     // of the last evaluation
  double virial[6] = {};         // of the model in the last compute()
  bool keeps_failure = false;    // an error of the model does not end the run
  std::string failure;           // of the last evaluation; empty: none
  RestartData stored;            // of a restart file, until pair_coeff
  bool restarted = false;        // there was one: files are continued
  DeviationOptions deviation_options;
  dptrain::Committee committee;
  std::vector<int> centers;  // [nlocal] without a list: all owned atoms
  ModelDeviationOutput output;
  std::vector<double> deviation;  // [nlocal] of the committee, LAMMPS units
  // What reverse communication is about: [nall][width].
  struct {
    double *values = nullptr;
    int width = 3;
  } fold;
  struct {
    std::vector<double> values[2];  // [nlocal] what it reads: uncertainty, deviation
    int asked = 0;                  // by it, at each step that it reads
  } for_fix_pair;

  // The present atoms as the library takes them: pointers into LAMMPS and into this object.
  /// `list`: none where the model finds neighbors itself.
  dptrain::Domain domain(const class Atom &atom, const class NeighList *list);
  // Where the owner of each ghost has to be known, or models look at all types: not by the arrays
  // of LAMMPS alone.
  void add_whole_frame(LAMMPS *lmp, dptrain::Domain &domain);
  // Which it is when a run begins. Collective.
  void find_first_type(const class Atom &atom);
  void set_owners(const class Atom &atom);
  ChargeKSpace *mesh(LAMMPS *lmp, const dptrain::Charges &charges);
  // An MD step of the model, on this rank's atoms or, where they pass messages, on all ranks'
  // together.
  void step(LAMMPS *lmp, const dptrain::Domain &domain, dptrain::ForwardOutput &out);

  // The evaluator of the model that is in the slot now.
  dptrain::Evaluator &current()
  {
    if (!evaluator || &evaluator->model() != slot->model().get())
      evaluator = std::make_unique<dptrain::Evaluator>(slot->model());
    return *evaluator;
  }
};

}  // namespace LAMMPS_NS
