/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "adapter/lammps_compat.h"
#include "nested/masked_list.h"
#include "nested/pair_options.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Pair;

/// Variables in quoted arguments are left alone by the input script; this expands them, and splits
/// the text at blanks.
std::vector<std::string> expanded_words(LAMMPS *lmp, const std::string &text);

/// The pair styles of a second force field: one, or the sub-styles of hybrid or hybrid/overlay,
/// each with the pairs of atom types that it acts on. The sub-styles are made and initialized here,
/// as LAMMPS' own hybrid styles do it: a second PairHybrid would take the neighbor lists of the run
/// for its own.
class PairSet : protected Pointers {
 public:
  struct Part {
    std::string name;
    int number = 0;  ///< 1, 2, ... where the name occurs more than once, otherwise 0
    std::unique_ptr<Pair> pair;
    double cutoff = 0.0;                   ///< largest of its pairs of types, after init()
    std::vector<NeighRequest *> requests;  ///< for neighbor lists, until these are made
    /// [ntypes + 1][ntypes + 1]: whether it acts on these types; empty: on all.
    std::vector<std::vector<bool>> acts;
    std::array<std::unique_ptr<MaskedList>, MAX_LISTS> lists;  ///< where it does not act on all
  };

  /// Creates the styles and reads the arguments of their pair_coeff and pair_modify commands. `who`
  /// begins messages, such as "Fix dptrain: reference". Errors for styles that are not there, and
  /// for what they lack.
  PairSet(LAMMPS *lmp, const std::string &who, const PairOptions &options);
  ~PairSet() override;

  const std::vector<Part> &parts() const { return parts_; }
  std::vector<Part> &parts() { return parts_; }
  /// Where messages begin: "WHO pair STYLE".
  const std::string &name() const { return name_; }
  /// The style of a pair_style command.
  const std::string &style() const { return style_; }

  /// What Pair::init() does, for one part.
  void init(Part &part);
  /// Whether a part acts on these atom types.
  bool acts(const Part &part, int i, int j) const;
  /// Gives a part that does not act on all pairs of types its own neighbor lists; after each build
  /// of those of LAMMPS.
  void give_lists(Part &part);
  double memory_usage() const;

 private:
  std::string style_, name_;
  std::vector<Part> parts_;
  // for hybrid styles: [ntypes + 1][ntypes + 1], i <= j
  std::vector<std::vector<std::vector<int>>> map_;  // parts that act on a pair of types
  std::vector<std::vector<bool>> set_;              // a coeff has named this pair

  bool hybrid() const { return style_ == "hybrid" || style_ == "hybrid/overlay"; }
  void check_style() const;
  void make_parts(const PairOptions &options);
  void add_part(const std::string &name, std::vector<std::string> args);
  void number_parts();
  void read_coefficients(const std::string &text);
  int named_part(const std::vector<std::string> &words, std::size_t &next) const;
  void give_coefficients(Part &part, std::vector<std::string> words);
  void map_types(int m, const std::string &first, const std::string &second,
                 const std::string &text);
  void modify(const std::string &text);
  void check_coefficients() const;
  void mask_types();
};

}  // namespace LAMMPS_NS
