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
  /// Listens at the address from now on. `cuts`: the frames are cut-outs, of which clients are told
  /// the elements. Collective.
  ReferenceSocket(LAMMPS *lmp, const SocketOptions &options, const std::string &fix_id, bool cuts,
                  FindSlot find_slot);

  void init() override;
  /// Writes FIX_ID.init.xyz, from which clients know the atoms.
  void setup() override;
  dptrain::LabelSource &source() override { return *source_; }

 private:
  SocketOptions options_;
  std::string structure_path_;
  bool cuts_;
  FindSlot find_slot_;
  std::unique_ptr<dptrain::SocketSource> source_;
};

}  // namespace LAMMPS_NS
