#include "session/requests/label_check.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "neighbor/lattice.h"

namespace dptrain {

namespace {

constexpr int fewest_pairs = 8;
// Angstrom, of an atom between the two configurations of a pair; the rule's error grows with the third power
constexpr double largest_displacement = 0.4;
constexpr double largest_strain = 0.1;
// eV; less is lost among the digits that clients send
constexpr double smallest_work = 1e-4;
// A factor is wrong where it differs from one by more than this and by more standard errors than that. Factors of wrong units are
// 27.2 (Hartree), 1.89 or 0.529 (Bohr), 2 and more.
constexpr double largest_difference = 0.4, standard_errors = 6.0;
// R^2 of the fit. Where molecules turn far between two labels the rule does not hold, and the factor says nothing.
constexpr double least_correlation = 0.9;
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

}  // namespace

std::string LabelCheck::add(const WholeFrame &frame, const Label &label)
{
  if (!is_complete(frame, label)) return "";
  if (last_.type == frame.type && last_.periodic == frame.periodic) compare(frame, label);
  last_ = frame;
  last_.label = label;
  const char *const
      forces =
          "the work of its forces: check units and sign of the forces, and units of the energy",
      *const virial = "the work of its virial: check units and sign of the stress (the virial is "
                      "minus the volume times the stress), and that the basis is converged";
  std::string text = fault(0, still_.pairs >= fewest_pairs ? still_ : deformed_, forces);
  if (text.empty()) text = fault(1, deformed_, virial);
  return text;
}

void LabelCheck::compare(const WholeFrame &frame, const Label &label)
{
  const Change change = change_between(last_, frame);
  const double strain = largest(change.strain);
  if (!(largest(change.displacement) <= largest_displacement) || !(strain <= largest_strain))
    return;
  const bool deformed = strain > 1e-10;
  if (deformed && !(label.virial && last_.label.virial)) return;
  double forces = 0.0, virial = 0.0;
  for (std::size_t k = 0; k < label.force.size(); ++k)
    forces += 0.5 * (label.force[k] + last_.label.force[k]) * change.displacement[k];
  for (int k = 0; deformed && k < 9; ++k)
    virial += 0.5 * ((*label.virial)[k] + (*last_.label.virial)[k]) * change.strain[k];
  const double energy = *last_.label.energy - *label.energy;
  if (std::max(std::fabs(forces), std::fabs(virial)) < smallest_work) return;
  Sums &sums = deformed ? deformed_ : still_;
  ++sums.pairs;
  sums.forces2 += forces * forces;
  sums.both += forces * virial;
  sums.virial2 += virial * virial;
  sums.forces_energy += forces * energy;
  sums.virial_energy += virial * energy;
  sums.energy2 += energy * energy;
  sums.largest_forces2 = std::max(sums.largest_forces2, forces * forces);
  sums.largest_virial2 = std::max(sums.largest_virial2, virial * virial);
}

// Least squares with two unknowns, with one where no cell has changed.
std::string LabelCheck::fault(int of, const Sums &s, const char *text)
{
  if (told_[of] || s.pairs < fewest_pairs || s.forces2 <= 0.0) return "";
  const double share = of == 0 ? s.largest_forces2 / s.forces2 : s.largest_virial2 / s.virial2;
  if (!(share <= largest_share)) return "";
  const double determinant = s.forces2 * s.virial2 - s.both * s.both;
  const bool two = determinant > 1e-6 * s.forces2 * s.virial2;
  if (of == 1 && !two) return "";
  const double of_forces =
                   two ? (s.forces_energy * s.virial2 - s.virial_energy * s.both) / determinant
                       : s.forces_energy / s.forces2,
               of_virial =
                   two ? (s.virial_energy * s.forces2 - s.forces_energy * s.both) / determinant
                       : 0.0;
  const double rest =
      std::max(0.0, s.energy2 - of_forces * s.forces_energy - of_virial * s.virial_energy);
  if (rest > (1.0 - least_correlation) * s.energy2) return "";
  const double variance = rest / (s.pairs - (two ? 2 : 1)),
               inverse = two ? (of == 0 ? s.virial2 : s.forces2) / determinant : 1.0 / s.forces2,
               factor = of == 0 ? of_forces : of_virial, error = std::sqrt(variance * inverse);
  if (std::fabs(factor - 1.0) <= std::max(largest_difference, standard_errors * error)) return "";
  told_[of] = true;
  return fmt::format("energies of the reference change by {:.3g} times (expected: 1) {}; found in "
                     "{} pairs of configurations",
                     factor, text, s.pairs);
}

}  // namespace dptrain
