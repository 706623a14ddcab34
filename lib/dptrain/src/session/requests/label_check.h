#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "session/requests/near_symmetry.h"

namespace dptrain {

/// The source of labels is wrong: what came from it must not be learned.
class WrongLabels : public Error {
 public:
  using Error::Error;
};

/// What happened between two configurations, by their labels: the energy goes down by the work of forces and virial (trapezoid rule).
struct Work {
  double displacement = 0.0, strain = 0.0;  ///< the largest ones, Angstrom and 1
  bool has_virial = true;                   ///< that the work of a strain needs
  double forces = 0.0, virial = 0.0;        ///< work, eV
  double energy = 0.0;                      ///< loss, eV
  double curvature = 0.0;  ///< sum over atoms of |change of the force times displacement|, eV
};

/// Whether energies, forces and virials of a reference belong together. Of two answers that lie close to each other the energy
/// changes by the work of forces and virial. Where it does not, the later label is in doubt, until another one agrees with it;
/// where most contradict several others, or a factor other than one belongs to the work of all, or the forces keep a symmetry that the atoms have
/// lost, the source is wrong: of its labels a model would learn what does not exist.
class LabelCheck {
 public:
  struct Finding {
    std::string doubt;    ///< why this label is not to be learned
    std::string warning;  ///< what may be wrong, each once
    std::string proof;    ///< what is wrong with the source, once
  };
  /// For a reference with an input of its own: `elements` of the types of frames. Others have no order of atoms and no symmetry that could be
  /// wrong: none.
  explicit LabelCheck(std::vector<std::string> elements = {}) : elements_(std::move(elements)) {}
  /// A label that has come.
  Finding add(const WholeFrame &frame, const Label &label);

 private:
  /// Sums over pairs of products of the work of forces, that of the virial, and the loss of energy, eV^2.
  struct Sums {
    int pairs = 0;
    double forces2 = 0.0, both = 0.0, virial2 = 0.0, forces_energy = 0.0, virial_energy = 0.0,
           energy2 = 0.0, curvature2 = 0.0;
    double largest_forces2 = 0.0, largest_virial2 = 0.0;  ///< of one pair
  };
  struct Factor {
    double value = 1.0, error = 0.0;  ///< of the fit, and its standard error
    double correlation = 0.0;         ///< R^2
  };
  std::string huge_forces(const WholeFrame &now) const;
  void compare_with_last(const WholeFrame &now);
  std::optional<Factor> factor(int of, const Sums &sums, int fewest) const;
  const Sums &sums_of_forces() const;
  std::string wrong_factor(int of, const Sums &sums, int fewest);
  std::string extrapolation();
  std::string kept_symmetry(const WholeFrame &now);
  std::string doubt_of(const WholeFrame &now, Finding &finding);
  void trust(const WholeFrame &frame);
  std::string contradiction();

  std::vector<std::string> elements_;
  std::optional<WholeFrame> last_;  ///< with its label
  Sums still_, deformed_;           ///< pairs with the same cell, and others
  std::array<bool, 2> told_{};      ///< of forces, of virial
  bool told_extrapolation_ = false, told_contradiction_ = false;
  struct Trusted {
    WholeFrame frame;
    int contradicted = 0;  ///< by later labels, of which none agrees with it
  };
  std::deque<Trusted> trusted_;     ///< the latest
  std::deque<WholeFrame> doubted_;  ///< the latest
  int agreeing_ = 0;                ///< labels that agree with one nearby
  int contradicting_ = 0;           ///< that contradict two or more, and agree with none
  std::optional<NearSymmetry> symmetry_;
  int symmetric_ = 0;  ///< labels that keep it
};

}  // namespace dptrain
