/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <array>
#include <string>

#include "pointers.h"

namespace LAMMPS_NS {

/// A value that a script names c_ID, f_ID or v_NAME, with [k] behind it for a component: of a
/// compute, a fix or a variable. Errors of all functions name it, say what it has, and what is
/// needed.
class ValueSource : protected Pointers {
 public:
  /// `what` says what the value is for, as the word before it in the input.
  ValueSource(LAMMPS *lmp, const std::string &what, const std::string &text);

  /// At the start of a run: it is there and has the needed shape. One number.
  void check_scalar() const;
  /// Ditto: a global vector of six numbers.
  void check_six() const;
  /// Ditto: an array with at least three columns for each atom.
  void check_vectors() const;
  /// Ditto: a number for each atom.
  void check_column() const;
  /// Ditto: a fix has it at every step.
  void check_every_step() const;
  /// The fix, where it is one; otherwise null.
  class Fix *fix() const;

  /// Values at the present step; collective.
  double scalar() const;
  std::array<double, 6> six() const;
  /// [nlocal][3]
  void vectors(double *out) const;
  /// Every third number of `out`, from the first one on: [nlocal]
  void column(double *out) const;

 private:
  enum class Kind { compute, fix, variable };
  std::string what_, text_, id_;
  Kind kind_ = Kind::compute;
  int index_ = 0;  // 0: none

  [[noreturn]] void wrong(const std::string &needed) const;
  class Compute *compute() const;
  int variable() const;
  void need(bool fine, const std::string &needed) const;
  void check_step(int frequency) const;
  const class Compute *invoke_peratom() const;
};

}  // namespace LAMMPS_NS
