#include "session/label_check.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "neighbor/lattice.h"

namespace dptrain {

namespace {

constexpr int fewest_pairs = 6;
// Angstrom, of an atom between the two configurations of a pair; the rule's error grows with the third power
constexpr double largest_displacement = 0.4;
constexpr double largest_strain = 0.1;
// eV; less is lost among the digits that clients send
constexpr double smallest_work = 1e-4;
// A factor is wrong where it differs from one by more than this and by more standard errors than that. Factors of wrong units are
// 27.2 (Hartree), 1.89 or 0.529 (Bohr), 2 and more; a basis that changes with the cell makes some percent.
constexpr double largest_difference = 0.4, standard_errors = 6.0;

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
  std::string text = fault(
      0, "the work of its forces: check units and sign of the forces, and units of the energy");
  if (text.empty())
    text =
        fault(1, "the work of its virial: check units and sign of the stress (the virial is minus "
                 "the volume times the stress)");
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
  ++pairs_;
  forces2_ += forces * forces;
  both_ += forces * virial;
  virial2_ += virial * virial;
  forces_energy_ += forces * energy;
  virial_energy_ += virial * energy;
  energy2_ += energy * energy;
}

// Least squares with two unknowns, with one where no cell has changed.
std::string LabelCheck::fault(int of, const char *text)
{
  if (told_[of] || pairs_ < fewest_pairs || forces2_ <= 0.0) return "";
  const double determinant = forces2_ * virial2_ - both_ * both_;
  const bool two = determinant > 1e-6 * forces2_ * virial2_;
  if (of == 1 && !two) return "";
  const double of_forces = two ? (forces_energy_ * virial2_ - virial_energy_ * both_) / determinant
                               : forces_energy_ / forces2_,
               of_virial =
                   two ? (virial_energy_ * forces2_ - forces_energy_ * both_) / determinant : 0.0;
  const double rest = energy2_ - of_forces * forces_energy_ - of_virial * virial_energy_,
               variance = std::max(0.0, rest) / (pairs_ - (two ? 2 : 1)),
               inverse = two ? (of == 0 ? virial2_ : forces2_) / determinant : 1.0 / forces2_,
               factor = of == 0 ? of_forces : of_virial, error = std::sqrt(variance * inverse);
  if (std::fabs(factor - 1.0) <=
      std::max(largest_difference, standard_errors * std::max(error, 0.0)))
    return "";
  told_[of] = true;
  return formatted("energies of the reference change by %.3g times (expected: once) ", factor) +
         text + formatted("; found in %d pairs of configurations", pairs_);
}

}  // namespace dptrain
