/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>

#include "force.h"

namespace LAMMPS_NS {

/// While it lives, this pair style and this kspace style are those of LAMMPS' Force: styles find
/// each other there. What was there before comes back at the end, after an exception too.
class ForceSwap {
 public:
  ForceSwap(Force *force, Pair *pair, const std::string &pair_style, KSpace *kspace,
            const std::string &kspace_style) :
      force_(force),
      pair_(force->pair),
      kspace_(force->kspace),
      pair_style_(force->pair_style),
      kspace_style_(force->kspace_style),
      pair_name_(pair_style),
      kspace_name_(kspace_style)
  {
    force->pair = pair;
    force->kspace = kspace;
    force->pair_style = pair_name_.data();
    force->kspace_style = kspace_name_.data();
  }
  ~ForceSwap()
  {
    force_->pair = pair_;
    force_->kspace = kspace_;
    force_->pair_style = pair_style_;
    force_->kspace_style = kspace_style_;
  }
  ForceSwap(const ForceSwap &) = delete;
  ForceSwap &operator=(const ForceSwap &) = delete;

 private:
  Force *force_;
  Pair *pair_;
  KSpace *kspace_;
  char *pair_style_, *kspace_style_;
  std::string pair_name_, kspace_name_;
};

}  // namespace LAMMPS_NS
