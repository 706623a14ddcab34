#include "frames/frame_check.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>

#include "base/advice.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

std::string name_of(const Frame &frame)
{
  return fmt::format("Labeled frame of step {}", frame.step);
}

[[noreturn]] void fail(const Frame &frame, const std::string &what)
{
  throw Error(name_of(frame) + ": " + what);
}

void check_finite(const Frame &frame, const double *values, std::size_t n, const std::string &what)
{
  for (std::size_t k = 0; k < n; ++k)
    if (!std::isfinite(values[k]))
      fail(frame,
           fmt::format(
               "{} holds {}: the reference or the simulation went wrong there; leave the frame out",
               what, values[k]));
}

/// Labels of single atoms: numbers per atom; 0: any number for each of the three components.
struct AtomLabel {
  const char *name;
  std::vector<double> Label::*values;
  std::size_t width;
};

constexpr int num_atom_labels = 6;
const AtomLabel atom_labels[num_atom_labels] = {
    {"force", &Label::force, 3},         {"atom_ener", &Label::atom_energy, 1},
    {"atom_pref", &Label::atom_pref, 1}, {"atom_ener_coeff", &Label::atom_ener_coeff, 1},
    {"drdq", &Label::drdq, 0},           {"force_weight", &Label::force_weight, 1}};

void check_atom_label(const Frame &frame, const AtomLabel &label)
{
  const std::vector<double> &values = frame.label.*label.values;
  const std::size_t n = frame.nlocal;
  check_finite(frame, values.data(), values.size(), fmt::format("the label {}", label.name));
  if (values.empty()) return;
  if (n == 0 || (label.width > 0 ? values.size() != label.width * n : values.size() % (3 * n) != 0))
    fail(frame, fmt::format("{} numbers of the label {} for {} atoms ({} per atom are needed)",
                            values.size(), label.name, n,
                            label.width > 0 ? std::to_string(label.width) : "a multiple of 3"));
}

void check_share(const Frame &frame, int ntypes)
{
  const std::size_t n = frame.nlocal, nall = frame.type.size();
  if (nall < n || frame.x.size() != 3 * nall || frame.first.size() != n + 1 ||
      frame.neighbor.size() != std::size_t(frame.first.back()))
    throw internal_error(
        fmt::format("{}: its arrays do not fit to {} owned of {} atoms", name_of(frame), n, nall));
  if (!frame.halo) throw internal_error(fmt::format("{}: it has no halo", name_of(frame)));
  for (int type : frame.type)
    if (type < -1 || type >= ntypes)
      fail(frame, fmt::format("atom type {} does not exist in the model, which has {} types "
                              "(counted from 0): use a model with all elements of the data",
                              type, ntypes));
  check_finite(frame, frame.x.data(), frame.x.size(), "a position");
  if (frame.label.energy) check_finite(frame, &*frame.label.energy, 1, "the energy label");
  if (frame.label.virial) check_finite(frame, frame.label.virial->data(), 9, "the virial label");
  if (!(frame.label.frame_weight >= 0.0 && std::isfinite(frame.label.frame_weight)))
    fail(frame, fmt::format("its weight is {}: it must be a number of at least 0",
                            frame.label.frame_weight));
  for (const AtomLabel &label : atom_labels) check_atom_label(frame, label);
  for (const double weight : frame.label.force_weight)
    if (weight < 0.0)
      fail(frame,
           fmt::format("the label force_weight holds {}: a weight must be 0 or more", weight));
}

// All ranks have a label, or none; those without atoms have none of single atoms.
void check_agreement(const Communicator &comm, const Frame &frame)
{
  std::int64_t ranks[2] = {frame.label.energy ? 1 : 0, frame.label.virial ? 1 : 0};
  std::int64_t atoms[num_atom_labels];
  for (int k = 0; k < num_atom_labels; ++k)
    atoms[k] = (frame.label.*atom_labels[k].values).empty() ? 0 : frame.nlocal;
  comm.all_reduce_sum(ranks, 2);
  comm.all_reduce_sum(atoms, num_atom_labels);
  bool agree = ranks[0] % comm.size() == 0 && ranks[1] % comm.size() == 0;
  for (std::int64_t n : atoms) agree = agree && (n == 0 || n == frame.natoms);
  if (!agree)
    throw internal_error(fmt::format(
        "{}: some ranks have a label (energy, virial or one of the atoms) and others do not",
        name_of(frame)));
  if (ranks[0] + ranks[1] + atoms[0] + atoms[1] == 0)
    fail(frame, "it has no label: no energy, no forces, no virial and no atomic energies; add one, "
                "or leave the frame out");
}

// A mean over forces of which none counts does not exist.
void check_weights(const Communicator &comm, const Frame &frame)
{
  double sums[2] = {static_cast<double>(frame.label.force_weight.size()), 0.0};
  for (const double weight : frame.label.force_weight) sums[1] += weight;
  comm.all_reduce_sum(sums, 2);
  if (sums[0] > 0.0 && sums[1] == 0.0)
    fail(frame, "the label force_weight is 0 for all atoms: at least one force must count");
}

std::vector<std::int64_t> count_types(const Communicator &comm, const Frame &frame, int ntypes)
{
  std::vector<std::int64_t> counts(ntypes, 0);
  for (int i = 0; i < frame.nlocal; ++i)
    if (frame.type[i] >= 0) ++counts[frame.type[i]];
  comm.all_reduce_sum(counts.data(), counts.size());
  return counts;
}

// Neighbors of atoms whose forces have no weight may be where none would be: at the border of a cut-out.
PairDistances closest_pairs(const Communicator &comm, const Frame &frame, int ntypes)
{
  PairDistances squares(ntypes);
  const std::vector<double> &weight = frame.label.force_weight;
  bool same_place = false;
  for (int i = 0; i < frame.nlocal; ++i)
    for (int k = frame.first[i]; k < frame.first[i + 1]; ++k) {
      const int j = frame.neighbor[k];
      const double *p = &frame.x[std::size_t(i) * 3], *q = &frame.x[std::size_t(j) * 3];
      const double dx = q[0] - p[0], dy = q[1] - p[1], dz = q[2] - p[2];
      const double square = dx * dx + dy * dy + dz * dz;
      same_place = same_place || square == 0.0;
      if (frame.type[i] < 0 || frame.type[j] < 0) continue;
      if (weight.empty() || weight[i] > 0.0) squares.lower(frame.type[i], frame.type[j], square);
    }
  std::vector<double> largest(squares.values().size() + 1, same_place ? 1.0 : 0.0);
  for (std::size_t k = 0; k < squares.values().size(); ++k) largest[k] = -squares.values()[k];
  comm.all_reduce_max(largest.data(), largest.size());
  if (largest.back() > 0.0) fail(frame, "two atoms are at the same position; leave the frame out");
  PairDistances closest(ntypes);
  for (int a = 0; a < ntypes; ++a)
    for (int b = 0; b < ntypes; ++b)
      closest.lower(a, b, std::sqrt(-largest[static_cast<std::size_t>(a) * ntypes + b]));
  return closest;
}

PairDistances check_over(const Communicator &comm, Frame &frame, int ntypes)
{
  guarded(comm, [&] { check_share(frame, ntypes); });
  std::int64_t owned = frame.nlocal;
  comm.all_reduce_sum(&owned, 1);
  if (owned != frame.natoms || frame.natoms < 1)
    throw internal_error(fmt::format("{}: the ranks own {} atoms together, the frame has {}",
                                     name_of(frame), owned, frame.natoms));
  check_agreement(comm, frame);
  check_weights(comm, frame);
  if (frame.type_counts.empty()) frame.type_counts = count_types(comm, frame, ntypes);
  return closest_pairs(comm, frame, ntypes);
}

}  // namespace

void need_cell_for_charges(bool periodic)
{
  if (!periodic)
    throw Error("charges need a cell that is periodic in all directions: give the frames one, with "
                "vacuum around what is not, or leave the charges out");
}

void check_charge(std::optional<double> of_frame, std::optional<double> of_model)
{
  constexpr double same = 1e-6;
  if (!of_frame || !of_model || std::abs(*of_frame - *of_model) < same) return;
  throw Error(
      fmt::format("a frame has the total charge {:g}, and the charges of the model have {:g}: "
                  "leave such frames out, or give the model's term the total \"data\", "
                  "that of each frame",
                  *of_frame, *of_model));
}

PairDistances check_frame(const Communicator &comm, Frame &frame, int ntypes)
{
  if (!frame.is_copy) return check_over(comm, frame, ntypes);
  PairDistances closest;
  guarded(comm, [&] { closest = check_over(*make_mpi_communicator(), frame, ntypes); });
  return closest;
}

}  // namespace dptrain
