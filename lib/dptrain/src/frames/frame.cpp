#include "dptrain/frames/frame.h"

#include "dptrain/frames/whole_frame.h"

#include <algorithm>
#include <numeric>

#include "frames/stored_halo.h"
#include "neighbor/cell_list.h"

namespace dptrain {

namespace {

template <class... T> std::size_t bytes(const std::vector<T> &...arrays)
{
  return (... + (arrays.capacity() * sizeof(T)));
}

// An assignment of {} would keep it.
template <class T> void free_memory(std::vector<T> &array)
{
  std::vector<T>().swap(array);
}

// Of frames that have no atoms here.
std::shared_ptr<const Halo> empty_halo()
{
  static const auto halo = std::make_shared<const StoredHalo>(
      make_mpi_communicator(), 0, std::vector<int>(), std::vector<int>());
  return halo;
}

}  // namespace

void add(Label &label, const Label &other, double factor)
{
  if (label.energy) *label.energy += factor * other.energy.value();
  for (std::size_t k = 0; k < label.force.size(); ++k) label.force[k] += factor * other.force.at(k);
  if (label.virial)
    for (std::size_t k = 0; k < 9; ++k) (*label.virial)[k] += factor * other.virial.value()[k];
}

void Frame::drop_neighbors()
{
  free_memory(first);
  free_memory(neighbor);
  free_memory(rows_);
}

void Frame::drop_arrays()
{
  for_arrays(*this, [](auto &array) { free_memory(array); });
  free_memory(rows_);
  free_memory(counts_);
  free_memory(centers_);
}

void Frame::find_neighbors()
{
  NeighborRows rows = build_neighbor_rows(x.data(), nlocal, nall(), cutoff);
  first = std::move(rows.first);
  neighbor = std::move(rows.neighbor);
}

Frame Frame::copy() const
{
  Frame same(*this);  // domain() makes what points into it anew
  same.number = 0;
  return same;
}

Frame Frame::without_atoms() const
{
  Frame frame;
  frame.natoms = natoms;
  frame.step = step;
  frame.type_counts = type_counts;
  frame.cutoff = cutoff;
  frame.first = {0};
  frame.box = box;
  frame.periodic = periodic;
  frame.charge = charge;
  frame.label.energy = label.energy;
  frame.label.virial = label.virial;
  frame.label.frame_weight = label.frame_weight;
  frame.halo = empty_halo();
  return frame;
}

Domain Frame::domain() const
{
  rows_.resize(nlocal);
  counts_.resize(nlocal);
  centers_.resize(nlocal);
  for (int i = 0; i < nlocal; ++i) {
    rows_[i] = neighbor.data() + first[i];
    counts_[i] = first[i + 1] - first[i];
  }
  std::iota(centers_.begin(), centers_.end(), 0);

  Domain view;
  view.nlocal = nlocal;
  view.nall = nall();
  view.x = x.data();
  view.type = type.data();
  view.num_centers = nlocal;
  view.centers = centers_.data();
  view.num_neighbors = counts_.data();
  view.neighbors = rows_.data();
  view.neighbor_mask = 0x7FFFFFFF;
  const auto first_of = std::find_if(type_counts.begin(), type_counts.end(),
                                     [](std::int64_t count) { return count > 0; });
  if (first_of != type_counts.end())
    view.first_type = static_cast<int>(first_of - type_counts.begin());
  view.owner = owner.empty() ? nullptr : owner.data();
  view.whole = WholeCell{box, periodic, charge, halo ? halo->ranks() : nullptr};
  view.number = number;
  return view;
}

Domain Frame::weighted_domain() const
{
  Domain view = domain();
  view.whole.reset();
  view.number = 0;
  const std::vector<double> &weight = label.force_weight;
  if (weight.empty()) return view;
  const auto end = std::remove_if(centers_.begin(), centers_.end(),
                                  [&](int atom) { return !(weight[atom] > 0.0); });
  view.num_centers = static_cast<int>(end - centers_.begin());
  return view;
}

std::size_t Frame::memory_bytes() const
{
  return sizeof(Frame) + bytes(type_counts, x, type, tag, owner, first, neighbor) +
         bytes(label.force, label.force_weight, label.atom_energy, label.atom_pref,
               label.atom_ener_coeff, label.drdq) +
         bytes(rows_, counts_, centers_);
}

void add_frame(MemoryLedger &ledger, const Frame &frame)
{
  const std::size_t rows = (frame.first.capacity() + frame.neighbor.capacity()) * sizeof(int);
  add_uses(ledger, {{"frames", frame.memory_bytes() - rows},
                    {"neighbor rows", rows},
                    {"halo", frame.halo ? frame.halo->memory_bytes() : 0}});
}

}  // namespace dptrain
