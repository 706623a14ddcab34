#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pointers.h"
#include "reference.h"

namespace LAMMPS_NS {

/// `reference pair STYLE [args] coeff "..." [modify "..."] end`: a second pair style, evaluated on the atoms, ghosts and neighbor
/// cycle of this run without touching its forces.
class ReferencePair : public Reference, protected Pointers {
 public:
  /// Creates the style, reads its coefficients and the arguments of pair_modify commands. Errors for styles that need what a second style cannot have.
  ReferencePair(LAMMPS *lmp, const std::string &style, const std::vector<std::string> &args,
                const std::vector<std::string> &coeffs, const std::vector<std::string> &modify,
                FoldGhosts fold);
  ~ReferencePair() override;

  void init() override;
  void setup() override;
  void request() override;
  ReferenceAnswer poll() override;
  int comm_forward() const override;
  int comm_reverse() const override;
  double memory_usage() const override;

 private:
  std::string style_;
  class Pair *pair_ = nullptr;
  FoldGhosts fold_;
  double user_ghost_cutoff_ = 0.0;             // of comm_modify cutoff
  std::optional<double> raised_ghost_cutoff_;  // what this style made of it
  bool set_up_ = false;
  std::vector<double> saved_, force_;  // [nall][3]
  ReferenceAnswer answer_;

  void check_style() const;
  void read_coefficients(const std::string &text);
  bool looks_further() const;
  void reach_cutoff();
};

}  // namespace LAMMPS_NS
