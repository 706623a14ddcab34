/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>

#include "dptrain/labels/socket_source.h"
#include "pointers.h"
#include "reference/program_options.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

/// `reference socket ADDRESS ... end`: other programs compute the labels, as clients of the i-PI
/// protocol.
class ReferenceSocket : public Reference, protected Pointers {
 public:
  /// Listens at the address from now on. `others`: configurations may have other atoms than the run,
  /// and clients are told their elements. Collective.
  ReferenceSocket(LAMMPS *lmp, const SocketOptions &options, const std::string &fix_id, bool others,
                  FindSlot find_slot);

  /// Writes FIX_ID.init.xyz, from which clients know the atoms of the run.
  void init() override;
  dptrain::LabelSource &source() override { return *source_; }

 private:
  SocketOptions options_;
  std::string structure_path_;
  bool others_;
  FindSlot find_slot_;
  std::unique_ptr<dptrain::SocketSource> source_;
};

}  // namespace LAMMPS_NS
