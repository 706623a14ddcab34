#include "session/requests/label_check.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "dptrain/base/elements.h"
#include "neighbor/lattice.h"

namespace dptrain {

namespace {

constexpr int fewest_pairs = 8;
constexpr int enough = 4;  // labels with a symmetry that are no accident
constexpr int few = 3;     // labels that contradict others
constexpr std::size_t kept_labels = 6, atoms_of_a_contact = 2000;
// eV/Angstrom; without two atoms that are nearer than this part of the sum of their covalent radii nothing at rest has larger forces
constexpr double huge_force = 8.0, close_contact = 0.85;
// Angstrom, of an atom between two configurations whose labels can contradict each other
constexpr double near_displacement = 0.25, near_strain = 0.02;
// What is lost among the digits of energies that are converged as usual: eV, and eV for each atom
constexpr double doubtful_energy = 0.05, doubtful_energy_per_atom = 2e-3;
// Angstrom, of an atom between the two configurations of a pair; the rule's error grows with the third power
constexpr double largest_displacement = 0.4;
constexpr double largest_strain = 0.02, unchanged = 1e-10;
// eV; less is lost among the digits that clients send
constexpr double smallest_work = 1e-4;
// A factor is wrong where it differs from one by more than this and by more standard errors than that. Factors of wrong units are
// 27.2 (Hartree), 1.89 or 0.529 (Bohr), 2 and more.
constexpr double largest_difference = 0.4, standard_errors = 6.0;
// R^2 of the fit. Where molecules turn far between two labels the rule does not hold, and the factor says nothing.
constexpr double least_correlation = 0.9;
// Part of the sum of squares of the energies that factors of one leave where that of the forces is wrong.
constexpr double least_disagreement = 0.1;
// The rule's own error in parts of the curvature: where cells hardly change it is not to be mistaken for a wrong virial.
constexpr double error_of_rule = 0.06;
// The same for a factor that is nearly one.
constexpr double small_difference = 0.04, close_correlation = 0.995;
// Of the sum of squares: where one pair has more of it the factor is that of this pair, with the errors of its rule.
constexpr double largest_share = 0.5;

// What happens between two configurations: the displacement of each atom in the second cell, and the strain of the cell.
struct Change {
  std::vector<double> displacement;  // [natoms][3] Angstrom
  std::array<double, 9> strain{};
};

// Each lattice vector of the new cell is the old one times (1 + strain).
std::array<double, 9> strain_between(const Lattice &old_cell, const std::array<double, 9> &box)
{
  std::array<double, 9> strain{};
  for (int row = 0; row < 3; ++row) {
    double axis[3] = {0.0, 0.0, 0.0};
    axis[row] = 1.0;
    const auto parts = old_cell.fractional(axis);
    for (int d = 0; d < 3; ++d) {
      strain[3 * row + d] = parts[0] * box[d] + parts[1] * box[3 + d] + parts[2] * box[6 + d];
      if (d == row) strain[3 * row + d] -= 1.0;
    }
  }
  return strain;
}

void displacement_in_cell(const Lattice &old_cell, const Lattice &cell,
                          const std::array<double, 9> &box, const double *from, const double *to,
                          double *result)
{
  const auto before = old_cell.fractional(from), now = cell.fractional(to);
  for (int d = 0; d < 3; ++d) result[d] = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double part = now[k] - before[k] - std::round(now[k] - before[k]);
    for (int d = 0; d < 3; ++d) result[d] += part * box[3 * k + d];
  }
}

Change change_between(const WholeFrame &from, const WholeFrame &to)
{
  Change change;
  change.displacement.resize(to.coord.size());
  if (!to.periodic) {
    for (std::size_t k = 0; k < to.coord.size(); ++k)
      change.displacement[k] = to.coord[k] - from.coord[k];
    return change;
  }
  const Lattice old_cell(from.box), cell(to.box);
  change.strain = strain_between(old_cell, to.box);
  for (std::size_t k = 0; k < to.coord.size(); k += 3)
    displacement_in_cell(old_cell, cell, to.box, &from.coord[k], &to.coord[k],
                         &change.displacement[k]);
  return change;
}

template <class Values> double largest(const Values &values)
{
  double found = 0.0;
  for (const double value : values) found = std::max(found, std::fabs(value));
  return found;
}

bool is_complete(const WholeFrame &frame, const Label &label)
{
  return label.energy && !frame.coord.empty() && label.force.size() == frame.coord.size() &&
         label.force_weight.empty();
}

// The smallest distance of two atoms in parts of the sum of their covalent radii; at most 1. 0 where it is not known.
double nearest_contact(const WholeFrame &frame, const std::vector<std::string> &elements)
{
  if (frame.type.size() > atoms_of_a_contact) return 0.0;
  std::vector<double> radius;
  for (const std::string &element : elements) radius.push_back(covalent_radius(element));
  const std::optional<Lattice> cell =
      frame.periodic ? std::optional<Lattice>(frame.box) : std::nullopt;
  double nearest = 1.0;
  for (std::size_t i = 0; i < frame.type.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double d[3];
      for (int k = 0; k < 3; ++k) d[k] = frame.coord[3 * i + k] - frame.coord[3 * j + k];
      if (cell) {
        const auto part = cell->fractional(d);
        for (int k = 0; k < 3; ++k)
          for (int c = 0; c < 3; ++c) d[c] -= std::round(part[k]) * frame.box[3 * k + c];
      }
      const double sum = radius.at(frame.type[i]) + radius.at(frame.type[j]);
      nearest = std::min(nearest, sum > 0.0 ? std::hypot(d[0], d[1], d[2]) / sum : 0.0);
    }
  return nearest;
}

Work work_between(const WholeFrame &from, const WholeFrame &to)
{
  const Change change = change_between(from, to);
  Work work;
  work.displacement = largest(change.displacement);
  work.strain = largest(change.strain);
  const bool deformed = work.strain > unchanged;
  work.has_virial = from.label.virial && to.label.virial;
  for (std::size_t k = 0; k < to.label.force.size(); k += 3) {
    double bend = 0.0;
    for (std::size_t d = k; d < k + 3; ++d) {
      work.forces += 0.5 * (to.label.force[d] + from.label.force[d]) * change.displacement[d];
      bend += (to.label.force[d] - from.label.force[d]) * change.displacement[d];
    }
    work.curvature += std::fabs(bend);
  }
  for (int k = 0; deformed && work.has_virial && k < 9; ++k)
    work.virial += 0.5 * ((*to.label.virial)[k] + (*from.label.virial)[k]) * change.strain[k];
  work.energy = *from.label.energy - *to.label.energy;
  return work;
}

bool can_be_compared(const WholeFrame &from, const WholeFrame &to)
{
  return from.type == to.type && from.periodic == to.periodic && from.charge == to.charge;
}

// How far the energy is from what the work says, in parts of what the rule and the digits leave open. Nothing where the
// configurations are not near.
std::optional<double> contradiction_of(const WholeFrame &from, const WholeFrame &to)
{
  if (!can_be_compared(from, to)) return std::nullopt;
  const Work work = work_between(from, to);
  if (!(work.displacement <= near_displacement) || !(work.strain <= near_strain) ||
      (work.strain > unchanged && !work.has_virial))
    return std::nullopt;
  // where the basis changes with the cell the virial is that of another energy
  const double open = work.curvature + std::fabs(work.virial) + doubtful_energy +
                      doubtful_energy_per_atom * static_cast<double>(to.type.size());
  return std::fabs(work.energy - work.forces - work.virial) / open;
}

}  // namespace

LabelCheck::Finding LabelCheck::add(const WholeFrame &frame, const Label &label)
{
  Finding finding;
  if (!is_complete(frame, label)) return finding;
  WholeFrame now = frame;
  now.label = label;
  if (frame.baseline) dptrain::add(now.label, *frame.baseline, 1.0);  // as the reference gave it
  if (!last_ && !elements_.empty()) symmetry_.emplace(frame);
  if (!last_) finding.warning = huge_forces(now);
  if (last_ && can_be_compared(*last_, now)) compare_with_last(now);
  finding.proof = kept_symmetry(now);
  if (finding.proof.empty()) finding.proof = wrong_factor(0, sums_of_forces(), fewest_pairs);
  // a basis that is not converged gives wrong factors, too, and energies and forces are good
  const std::string of_virial = wrong_factor(1, deformed_, fewest_pairs);
  if (!of_virial.empty()) finding.warning = of_virial;
  finding.doubt = doubt_of(now, finding);
  if (finding.proof.empty()) finding.proof = contradiction();
  if (finding.proof.empty() && finding.warning.empty()) finding.warning = extrapolation();
  last_ = std::move(now);
  return finding;
}

// A client has a list of elements of its own, and its labels are as consistent in another order of the atoms; but then what is a
// bond for LAMMPS is something else there.
std::string LabelCheck::huge_forces(const WholeFrame &now) const
{
  double force = 0.0;
  for (std::size_t k = 0; k < now.label.force.size(); k += 3)
    force = std::max(
        force, std::hypot(now.label.force[k], now.label.force[k + 1], now.label.force[k + 2]));
  if (elements_.empty() || force < huge_force) return "";
  const double contact = nearest_contact(now, elements_);
  if (contact < close_contact) return "";
  return fmt::format("the largest force of the first label is {:.3g} eV/Angstrom, although no two "
                     "atoms are nearer "
                     "than {:.2f} of the sum of their covalent radii: check that the atoms in the "
                     "input of the reference have the order of ID.init.xyz, and its units; where "
                     "the structure is far from equilibrium all is well",
                     force, contact);
}

void LabelCheck::compare_with_last(const WholeFrame &now)
{
  const Work work = work_between(*last_, now);
  if (!(work.displacement <= largest_displacement) || !(work.strain <= largest_strain)) return;
  const bool deformed = work.strain > unchanged;
  if (deformed && !work.has_virial) return;
  const double forces = work.forces, virial = work.virial, energy = work.energy;
  if (std::max(std::fabs(forces), std::fabs(virial)) < smallest_work) return;
  Sums &sums = deformed ? deformed_ : still_;
  ++sums.pairs;
  sums.forces2 += forces * forces;
  sums.both += forces * virial;
  sums.virial2 += virial * virial;
  sums.curvature2 += work.curvature * work.curvature;
  sums.forces_energy += forces * energy;
  sums.virial_energy += virial * energy;
  sums.energy2 += energy * energy;
  sums.largest_forces2 = std::max(sums.largest_forces2, forces * forces);
  sums.largest_virial2 = std::max(sums.largest_virial2, virial * virial);
}

const LabelCheck::Sums &LabelCheck::sums_of_forces() const
{
  return still_.pairs >= fewest_pairs ? still_ : deformed_;
}

// By which factor of its work the energy changes. Least squares with two unknowns, with one where no cell has changed.
std::optional<LabelCheck::Factor> LabelCheck::factor(int of, const Sums &s, int fewest) const
{
  if (s.pairs < fewest || s.forces2 <= 0.0) return std::nullopt;
  const double share = of == 0 ? s.largest_forces2 / s.forces2 : s.largest_virial2 / s.virial2;
  if (!(share <= largest_share)) return std::nullopt;
  const double determinant = s.forces2 * s.virial2 - s.both * s.both;
  const bool two = determinant > 1e-6 * s.forces2 * s.virial2;
  if (of == 1 && !two) return std::nullopt;
  const double of_forces =
                   two ? (s.forces_energy * s.virial2 - s.virial_energy * s.both) / determinant
                       : s.forces_energy / s.forces2,
               of_virial =
                   two ? (s.virial_energy * s.forces2 - s.forces_energy * s.both) / determinant
                       : 0.0;
  const double rest =
      std::max(0.0, s.energy2 - of_forces * s.forces_energy - of_virial * s.virial_energy);
  const double variance = rest / (s.pairs - (two ? 2 : 1)),
               inverse = two ? (of == 0 ? s.virial2 : s.forces2) / determinant : 1.0 / s.forces2;
  // what is left where nothing is wrong: two unknowns that change alike may have any factors
  const double as_it_should =
      s.energy2 - 2.0 * (s.forces_energy + s.virial_energy) + s.forces2 + 2.0 * s.both + s.virial2;
  const double open =
      of == 0 ? least_disagreement * s.energy2 : error_of_rule * error_of_rule * s.curvature2;
  if (two && as_it_should < open) return Factor{1.0, 0.0, 1.0 - as_it_should / s.energy2};
  return Factor{of == 0 ? of_forces : of_virial, std::sqrt(variance * inverse),
                1.0 - rest / s.energy2};
}

std::string LabelCheck::wrong_factor(int of, const Sums &sums, int fewest)
{
  const std::optional<Factor> found = factor(of, sums, fewest);
  if (told_[of] || !found || found->correlation < least_correlation ||
      std::fabs(found->value - 1.0) <= std::max(largest_difference, standard_errors * found->error))
    return "";
  told_[of] = true;
  return fmt::format(
      "energies of the reference change by {:.3g} times (expected: 1) the work of its {}; found in "
      "{} pairs of configurations",
      found->value,
      of == 0 ? "forces: check units and sign of the forces, and units of the energy"
              : "virial: check units and sign of the stress (the virial is minus the volume times "
                "the stress), and that the basis is converged, or use 'virial no'",
      sums.pairs);
}

std::string LabelCheck::extrapolation()
{
  const std::optional<Factor> found = factor(0, still_, fewest_pairs);
  if (told_extrapolation_ || !found || found->correlation < close_correlation ||
      std::fabs(found->value - 1.0) <= std::max(small_difference, standard_errors * found->error))
    return "";
  told_extrapolation_ = true;
  return fmt::format(
      "energies of the reference change by {:.3f} times (expected: 1) the work of its forces; "
      "found in {} pairs of configurations: check that it sends the free energy, of "
      "which the forces are derivatives, and not the one that is extrapolated to "
      "zero smearing, and that its calculations are converged",
      found->value, still_.pairs);
}

std::string LabelCheck::kept_symmetry(const WholeFrame &now)
{
  if (symmetric_ == enough || !last_ || !symmetry_) return "";
  const bool changes =
      std::fabs(*now.label.energy - *last_->label.energy) > doubtful_energy_per_atom;
  if (!changes) return "";
  symmetric_ = symmetry_->is_kept_by_forces_alone(now, now.label.force) ? symmetric_ + 1 : 0;
  if (symmetric_ < enough) return "";
  return fmt::format("the forces of {} configurations have a symmetry that the positions of the "
                     "atoms have not: the reference imposes the symmetry of its own input: turn it "
                     "off there (Quantum ESPRESSO: nosym = .true. and noinv = .true.; ABINIT: "
                     "nsym 1; VASP: ISYM = 0)",
                     enough);
}

// One that contradicts all labels nearby is in doubt. Where it agrees with one in doubt, or several contradict one and the same label and
// not each other, those that they contradict are the wrong ones.
std::string LabelCheck::doubt_of(const WholeFrame &now, Finding &finding)
{
  int agreeing = 0;
  std::vector<Trusted *> against;
  double worst = 0.0;
  for (Trusted &other : trusted_) {
    const std::optional<double> found = contradiction_of(other.frame, now);
    if (found && *found <= 1.0) ++agreeing;
    if (!found || *found <= 1.0) continue;
    if (*found >= worst)
      against.insert(against.begin(), &other);
    else
      against.push_back(&other);
    worst = std::max(worst, *found);
  }
  int in_doubt = 0;
  const WholeFrame *supporter = nullptr;
  for (const WholeFrame &other : doubted_) {
    const std::optional<double> found = contradiction_of(other, now);
    if (found && *found <= 1.0) supporter = &other;
    if (found && *found > 1.0) ++in_doubt;
  }
  if (agreeing > 0 || against.empty()) {
    if (agreeing > 0) ++agreeing_;
    trust(now);
    return "";
  }
  for (Trusted *other : against) ++other->contradicted;
  const bool alone = against.size() == 1 && in_doubt == 0;
  if (supporter || (alone && against.front()->contradicted >= few)) {
    finding.warning = fmt::format(
        "the label of step {} contradicts several later ones, and is learned: see whether its "
        "calculation is converged",
        against.front()->frame.step);
    std::erase_if(trusted_, [](const Trusted &other) { return other.contradicted > 0; });
    if (supporter) trust(*supporter);
    doubted_.clear();
    trust(now);
    return "";
  }
  // two labels or more that it contradicts are no accident
  if (against.size() + static_cast<std::size_t>(in_doubt) > 1) ++contradicting_;
  const Work work = work_between(against.front()->frame, now);
  std::string text =
      fmt::format("its energy differs by {:.4g} eV from that of step {}, and by {:.4g} eV by the "
                  "work of forces and virial; see whether this calculation, or the one of that "
                  "step, is converged",
                  -work.energy, against.front()->frame.step, -work.forces - work.virial);
  doubted_.push_back(now);
  if (doubted_.size() > kept_labels) doubted_.pop_front();
  return text;
}

void LabelCheck::trust(const WholeFrame &frame)
{
  trusted_.push_back({frame});
  if (trusted_.size() > kept_labels) trusted_.pop_front();
}

std::string LabelCheck::contradiction()
{
  if (told_contradiction_ || contradicting_ < few || contradicting_ <= agreeing_) return "";
  told_contradiction_ = true;
  for (const int of : {0, 1}) {
    const std::string why = wrong_factor(of, of == 0 ? still_ : deformed_, few);
    if (!why.empty()) return why;
  }
  return fmt::format(
      "energies and forces of the reference do not belong together: {} labels contradict two or "
      "more "
      "others nearby, whose energies do not change by the work of the forces, and {} "
      "agree with one: check that its calculations converge (an answer that is not "
      "converged must not be sent), that it has symmetry off, and its units",
      contradicting_, agreeing_);
}

}  // namespace dptrain
