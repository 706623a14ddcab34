/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>

#include "adapter/dptrain_adapter.h"
#include "dptrain/labels/label_source.h"
#include "lmptype.h"
#include "pointers.h"

namespace LAMMPS_NS {

/// Finds the model, for the elements of the atom types, when a run has started.
using FindSlot = std::function<const ModelInUse &()>;

/// Energy, forces and virial of the present configuration, in LAMMPS units.
struct ReferenceValues {
  double energy = 0.0;  ///< of the whole system, same value on all ranks
  const double *force =
      nullptr;  ///< [nlocal][3] of the owned atoms; valid until the next evaluation
  /// Of the whole system: xx yy zz xy xz yz, sum of F (x) x, same value on all ranks.
  std::array<double, 6> virial{};
  bool has_virial = true;  ///< the virial is known; otherwise it is zero
};

/// A source of labels inside a LAMMPS run: what the run has to do for it. All functions are
/// collective.
class Reference {
 public:
  virtual ~Reference() noexcept(false) = default;
  /// At the start of each run, from Fix::init: the force field is initialized, neighbor lists and
  /// communication are not.
  virtual void init() {}
  /// After neighbor lists and ghost atoms are there, before the first request of a run.
  virtual void setup() {}
  /// Announces the step of a request, before the forces of that step are computed.
  virtual void announce(bigint /*step*/) {}
  /// Where the configurations go.
  virtual dptrain::LabelSource &source() = 0;
  /// Doubles per atom that communication buffers need for it.
  virtual int comm_forward() const { return 0; }
  virtual int comm_reverse() const { return 0; }
  virtual double memory_usage() const { return 0.0; }
};

/// Labels that this run computes at once from its present atoms, which the frame of a request must
/// be.
class PresentSource final : public dptrain::LabelSource {
 public:
  using Evaluate = std::function<ReferenceValues()>;
  PresentSource(LAMMPS *lmp, Evaluate evaluate) : lmp_(lmp), evaluate_(std::move(evaluate)) {}

  std::int64_t submit(const dptrain::WholeFrame &frame) override;
  std::vector<dptrain::LabelAnswer> poll() override;
  void cancel(std::int64_t request) override { answers_.erase(request); }
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(answers_.size()); }

 private:
  LAMMPS *lmp_;
  Evaluate evaluate_;
  std::int64_t submitted_ = 0;
  std::map<std::int64_t, dptrain::LabelAnswer> answers_;
};

/// Warns of a box that changes under a reference without virial, at the start of a run.
void warn_of_missing_virial(LAMMPS *lmp);

/// Values of the present configuration as a label, the same on all ranks. Collective.
dptrain::Label label_of(LAMMPS *lmp, const ReferenceValues &values);

}  // namespace LAMMPS_NS
