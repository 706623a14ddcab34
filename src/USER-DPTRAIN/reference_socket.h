#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/labels/label_server.h"
#include "dptrain_adapter.h"
#include "model_slot.h"
#include "pointers.h"
#include "reference.h"
#include "socket_options.h"

namespace LAMMPS_NS {

/// `reference socket ADDRESS ... end`: other programs compute the labels, as clients of the i-PI protocol. Rank 0 talks to
/// them; the others sleep meanwhile, so that the programs get their cores.
class ReferenceSocket : public Reference, protected Pointers {
 public:
  /// Finds the model, for the elements of the atom types, when a run starts.
  using FindSlot = std::function<const ModelSlot &()>;

  /// Listens at the address from now on. Collective.
  ReferenceSocket(LAMMPS *lmp, const SocketOptions &options, const std::string &fix_id,
                  FindSlot find_slot);

  void init() override;
  /// Writes FIX_ID.init.xyz, from which clients know the atoms.
  void setup() override;
  void request() override;
  /// Waits for the answer.
  ReferenceAnswer poll() override;
  double memory_usage() const override;

 private:
  SocketOptions options_;
  std::string structure_path_;
  FindSlot find_slot_;
  std::unique_ptr<dptrain::LabelServer> server_;  // on rank 0
  bool pending_ = false;
  bigint step_ = 0;                // of the pending request
  std::vector<tagint> tags_;       // of its atoms, ascending
  std::vector<double> all_force_;  // [natoms][3] in this order, eV/Angstrom
  std::vector<double> force_;      // [nlocal][3], LAMMPS units

  dptrain::WholeFrame gather(std::vector<tagint> *tags) const;
  dptrain::LabelAnswer await_answer();
  void take_own_forces();
};

}  // namespace LAMMPS_NS
