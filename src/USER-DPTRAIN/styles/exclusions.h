/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>
#include <vector>

#include "pointers.h"

namespace LAMMPS_NS {

/// What 'neigh_modify exclude' leaves out, for a model whose energy is one of all neighbors of an
/// atom.
///
/// An atom that is excluded from all others is hidden: it is as if it was not there, has no energy
/// and no force and gives none. Fixes of Monte Carlo methods delete atoms so for a trial (`exclude
/// group ID all`). Anything else that is excluded leaves out some pairs of an atom, for which such
/// a model has no meaning.
class Exclusions : protected Pointers {
 public:
  explicit Exclusions(LAMMPS *lmp) : Pointers(lmp) {}

  /// Whether the input or a fix excludes anything.
  bool any() const;
  /// Looks at what is excluded now. `model_type` maps atom types [ntypes + 1] to types of the
  /// model; -1: the model does not see them. Error where pairs are left out whose atoms are not
  /// hidden; collective at a step with new neighbor lists.
  void look(const std::vector<int> &model_type);
  /// Groups (bits of masks) whose atoms are hidden.
  int hidden_groups() const { return hidden_groups_; }
  /// The map of the last look(), with -1 for types whose atoms are hidden.
  const std::vector<int> &model_type() const { return model_type_; }
  /// The type of an owned atom or ghost for the model; -1: it does not see it.
  int model_type_of(int atom) const;
  /// The command that excludes something of the present atoms, hidden ones too; empty: nothing is.
  /// Collective.
  std::string concerned(const std::vector<int> &model_type);

 private:
  /// Pairs of atoms of two groups, or of two types.
  struct Pairs {
    std::string command;
    int groups[2];  // bits; 0: these are types
    int types[2];
    bool hides;  // the atoms of one side are excluded from all others
  };
  std::vector<Pairs> excluded() const;
  std::string first_with_atoms(const std::vector<Pairs> &) const;
  bool is_on(const Pairs &, int side, int atom) const;
  void find_hidden(const std::vector<int> &model_type);

  int hidden_groups_ = 0;
  std::vector<int> model_type_;
  bool warned_ = false;  // of hidden types
};

}  // namespace LAMMPS_NS
