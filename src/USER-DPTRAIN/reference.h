#pragma once

#include <array>
#include <functional>
#include <string>

#include "lmptype.h"

namespace LAMMPS_NS {

/// Energy, forces and virial of one configuration, in LAMMPS units.
struct ReferenceLabel {
  bigint step = 0;
  double energy = 0.0;            ///< of the whole system, same value on all ranks
  const double *force = nullptr;  ///< [nlocal][3] of the owned atoms; valid until the next request
  std::array<double, 6>
      virial{};  ///< of the whole system: xx yy zz xy xz yz, sum of F (x) x, same value on all ranks
  bool has_virial = true;  ///< the virial is known; otherwise it is zero
};

/// What came back from a reference.
struct ReferenceAnswer {
  enum class Status { pending, label, failed };
  Status status = Status::pending;
  ReferenceLabel label;
  std::string failure;  ///< why, where status is failed
};

/// Where labels come from. A label is an event: request() asks for the atoms as they are now, poll() hands over what is
/// ready, which may be at once. All functions are collective.
class Reference {
 public:
  virtual ~Reference() noexcept(false) = default;
  /// At the start of each run, from Fix::init: the force field is initialized, neighbor lists and communication are not.
  virtual void init() {}
  /// After neighbor lists and ghost atoms are there, before the first request of a run.
  virtual void setup() {}
  /// Announces the step of a request, before the forces of that step are computed.
  virtual void announce(bigint /*step*/) {}
  virtual void request() = 0;
  virtual ReferenceAnswer poll() = 0;
  /// Doubles per atom that communication buffers need for it.
  virtual int comm_forward() const { return 0; }
  virtual int comm_reverse() const { return 0; }
  virtual double memory_usage() const { return 0.0; }
};

/// Adds the forces [nall][3] on ghost atoms to their owners: communication of the fix that owns the reference.
using FoldGhosts = std::function<void(double *)>;

}  // namespace LAMMPS_NS
