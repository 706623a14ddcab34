// scatter_frame: from a whole frame to each rank's share of it, with ghosts, neighbors and halo plan.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <string>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "frames/stored_halo.h"
#include "neighbor/cell_list.h"
#include "neighbor/lattice.h"

namespace dptrain {

namespace {

// A cutoff over more images than this is a wrong unit, not a crystal.
constexpr double max_images = 100.0;

void check_whole(const WholeFrame &whole)
{
  const std::size_t n = whole.type.size();
  const std::string where = fmt::format("Frame of step {}: ", whole.step);
  if (n == 0) throw Error(fmt::format("{}it has no atoms; leave it out", where));
  if (whole.coord.size() != 3 * n)
    throw Error(fmt::format("{}{} atom types but {} coordinates (3 per atom are needed)", where, n,
                            whole.coord.size()));
  if (!whole.label.force.empty() && whole.label.force.size() != 3 * n)
    throw Error(fmt::format("{}{} atoms but {} force components (3 per atom are needed)", where, n,
                            whole.label.force.size()));
  const std::pair<const char *, const std::vector<double> *> others[] = {
      {"force_weight", &whole.label.force_weight},
      {"atom_energy", &whole.label.atom_energy},
      {"atom_pref", &whole.label.atom_pref},
      {"atom_ener_coeff", &whole.label.atom_ener_coeff},
      {"drdq", &whole.label.drdq}};
  for (const auto &[name, values] : others)
    if (values->size() % n != 0)
      throw Error(fmt::format("{}{} atoms but {} numbers of {} (as many for each atom are needed)",
                              where, n, values->size(), name));
  for (std::size_t k = 0; k < 3 * n; ++k)
    if (!std::isfinite(whole.coord[k]))
      throw Error(fmt::format("{}the position of atom {} is not a finite number: the simulation or "
                              "the data set is broken there; leave the frame out",
                              where, k / 3 + 1));
}

/// Wrapped positions and coordinates u along which the frame is cut: fractional in a cell, Cartesian without one.
struct Space {
  std::optional<Lattice> lattice;
  std::vector<double> x, u;             // [natoms][3]
  std::array<double, 3> reach, extent;  // the cutoff in units of u; size of the frame in Angstrom
};

Space make_space(const WholeFrame &whole, double rcut)
{
  Space space;
  space.x = whole.coord;
  const std::size_t n = whole.type.size();
  if (!whole.periodic) {
    space.u = whole.coord;
    space.reach.fill(rcut);
    for (int d = 0; d < 3; ++d) {
      double low = space.u[d], high = space.u[d];
      for (std::size_t i = 0; i < n; ++i) {
        low = std::min(low, space.u[i * 3 + d]);
        high = std::max(high, space.u[i * 3 + d]);
      }
      space.extent[d] = high - low;
    }
    return space;
  }
  space.lattice.emplace(whole.box);
  space.u.resize(3 * n);
  for (int d = 0; d < 3; ++d) {
    space.extent[d] = space.lattice->height(d);
    space.reach[d] = rcut / space.extent[d];
    if (!(space.reach[d] < max_images))
      throw Error(fmt::format("The cell of a frame is only {} Angstrom thick, the cutoff is {} "
                              "Angstrom: check the units of the box",
                              space.extent[d], rcut));
  }
  for (std::size_t i = 0; i < n; ++i) {
    double *x = &space.x[i * 3];
    std::array<double, 3> f = space.lattice->fractional(x);
    std::array<int, 3> back;
    for (int d = 0; d < 3; ++d) {
      if (!(std::abs(f[d]) < 1e9))
        throw Error(fmt::format("Atom {} of a frame is more than 10^9 cells away from the origin: "
                                "check the units of positions and box",
                                i + 1));
      back[d] = -static_cast<int>(std::floor(f[d]));
      space.u[i * 3 + d] = f[d] + back[d];
    }
    space.lattice->shift(x, back);
  }
  return space;
}

/// Who owns each atom, and where it stands there. Inside a rank the order of the whole frame is kept.
struct Owners {
  std::vector<int> rank, index;  // [natoms]
  std::vector<int> mine;         // atoms of this rank, ascending
};

/// Recursive bisection: the ranks get equal numbers of atoms in compact bricks, whose surfaces, and so the ghosts, are
/// small.
class Bisection {
 public:
  Bisection(const Space &space, int ranks) :
      space_(space), order_(space.x.size() / 3), rank_(order_.size()), ranks_(ranks)
  {
    std::iota(order_.begin(), order_.end(), 0);
    divide(0, ranks);
  }
  /// [natoms]
  std::vector<int> &rank_of_atoms() { return rank_; }

 private:
  int *begin_of(int rank)
  {
    const std::int64_t n = static_cast<std::int64_t>(order_.size());
    return order_.data() + rank * n / ranks_;
  }

  // The direction in which these atoms reach farthest, in Angstrom.
  int longest_direction(const int *begin, const int *end) const
  {
    std::array<double, 3> length;
    for (int d = 0; d < 3; ++d) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (const int *i = begin; i != end; ++i) {
        low = std::min(low, coordinate(*i, d));
        high = std::max(high, coordinate(*i, d));
      }
      length[d] = (high - low) * (space_.lattice ? space_.extent[d] : 1.0);
    }
    return static_cast<int>(std::max_element(length.begin(), length.end()) - length.begin());
  }

  double coordinate(int atom, int d) const { return space_.u[std::size_t(atom) * 3 + d]; }

  // Ranks [first, last) share the atoms that stand at their places of the order.
  void divide(int first, int last)
  {
    int *begin = begin_of(first), *end = begin_of(last);
    if (last - first == 1) {
      for (const int *i = begin; i != end; ++i) rank_[*i] = first;
      return;
    }
    const int middle = (first + last) / 2, axis = longest_direction(begin, end);
    std::nth_element(begin, begin_of(middle), end, [&](int i, int j) {
      const double ui = coordinate(i, axis), uj = coordinate(j, axis);
      return ui != uj ? ui < uj : i < j;
    });
    divide(first, middle);
    divide(middle, last);
  }

  const Space &space_;
  std::vector<int> order_, rank_;
  int ranks_;
};

Owners assign_owners(const Space &space, const Communicator &comm)
{
  Owners owners;
  owners.rank = std::move(Bisection(space, comm.size()).rank_of_atoms());
  owners.index.resize(owners.rank.size());
  std::vector<int> count(comm.size(), 0);
  for (std::size_t i = 0; i < owners.rank.size(); ++i) {
    owners.index[i] = count[owners.rank[i]]++;
    if (owners.rank[i] == comm.rank()) owners.mine.push_back(static_cast<int>(i));
  }
  return owners;
}

/// Positions of the owned atoms, then of every image that may lie within the cutoff of one of them; the atom of each.
struct Candidates {
  std::vector<double> x;  // [nlocal + candidates][3]
  std::vector<int> atom;  // [nlocal + candidates] index in the whole frame
};

Candidates find_candidates(const Space &space, const Owners &owners, int me)
{
  Candidates found;
  std::array<double, 3> low, high;
  low.fill(1e300);
  high.fill(-1e300);
  for (int i : owners.mine) {
    found.atom.push_back(i);
    for (int d = 0; d < 3; ++d) {
      found.x.push_back(space.x[std::size_t(i) * 3 + d]);
      low[d] = std::min(low[d], space.u[std::size_t(i) * 3 + d]);
      high[d] = std::max(high[d], space.u[std::size_t(i) * 3 + d]);
    }
  }
  if (owners.mine.empty()) return found;
  const double margin = 1e-9;  // rounding of u
  const int natoms = static_cast<int>(space.x.size() / 3);
  for (int j = 0; j < natoms; ++j) {
    const double *u = &space.u[std::size_t(j) * 3];
    std::array<int, 3> first{},
        last{};  // of the shifts that bring j near; without a cell only 0 is there
    for (int d = 0; d < 3; ++d) {
      const double from = low[d] - space.reach[d] - margin - u[d];
      const double to = high[d] + space.reach[d] + margin - u[d];
      if (space.lattice) {
        first[d] = static_cast<int>(std::ceil(from));
        last[d] = static_cast<int>(std::floor(to));
      } else if (from > 0.0 || to < 0.0) {
        last[d] = -1;
      }
    }
    std::array<int, 3> n;
    for (n[0] = first[0]; n[0] <= last[0]; ++n[0])
      for (n[1] = first[1]; n[1] <= last[1]; ++n[1])
        for (n[2] = first[2]; n[2] <= last[2]; ++n[2]) {
          if (owners.rank[j] == me && n == std::array<int, 3>{0, 0, 0}) continue;
          std::array<double, 3> x;
          std::copy_n(&space.x[std::size_t(j) * 3], 3, x.begin());
          if (space.lattice) space.lattice->shift(x.data(), n);
          found.x.insert(found.x.end(), x.begin(), x.end());
          found.atom.push_back(j);
        }
  }
  return found;
}

/// Neighbor rows among owned atoms and candidates; candidates that nobody neighbors are dropped.
void add_neighbors(Frame &frame, Candidates &found, double rcut)
{
  const int nall = static_cast<int>(found.atom.size());
  NeighborRows rows = build_neighbor_rows(found.x.data(), frame.nlocal, nall, rcut);
  std::vector<int> renumber(nall, -1);
  for (int j : rows.neighbor) renumber[j] = 0;
  int kept = 0;
  for (int j = 0; j < nall; ++j) {
    if (j >= frame.nlocal && renumber[j] < 0) continue;
    renumber[j] = kept;
    found.atom[kept] = found.atom[j];
    std::copy_n(&found.x[std::size_t(j) * 3], 3, &found.x[std::size_t(kept) * 3]);
    ++kept;
  }
  found.atom.resize(kept);
  found.x.resize(std::size_t(kept) * 3);
  for (int &j : rows.neighbor) j = renumber[j];
  frame.first = std::move(rows.first);
  frame.neighbor = std::move(rows.neighbor);
  frame.neighbor.shrink_to_fit();
}

std::vector<std::int64_t> count_types(const std::vector<int> &types)
{
  std::vector<std::int64_t> counts(std::max(0, *std::max_element(types.begin(), types.end())) + 1);
  for (int type : types)
    if (type >= 0) ++counts[type];
  return counts;
}

/// The values of this rank's atoms, of [natoms][width] for any width; empty if there are none.
std::vector<double> share(const std::vector<double> &whole, const Owners &owners)
{
  const std::size_t width = whole.size() / owners.rank.size();
  std::vector<double> mine;
  mine.reserve(owners.mine.size() * width);
  for (int i : owners.mine)
    mine.insert(mine.end(), whole.begin() + i * width, whole.begin() + (i + 1) * width);
  return mine;
}

}  // namespace

Frame scatter_frame(std::shared_ptr<const Communicator> comm, const WholeFrame &whole, double rcut)
{
  Frame frame;
  std::vector<int> owner_rank, owner_index;
  guarded(*comm, [&] {
    check_whole(whole);
    const Space space = make_space(whole, rcut);
    const Owners owners = assign_owners(space, *comm);
    Candidates found = find_candidates(space, owners, comm->rank());

    frame.natoms = static_cast<std::int64_t>(whole.type.size());
    frame.step = whole.step;
    frame.type_counts = count_types(whole.type);
    frame.box = whole.box;
    frame.periodic = whole.periodic;
    frame.charge = whole.charge;
    frame.nlocal = static_cast<int>(owners.mine.size());
    frame.cutoff = rcut;
    add_neighbors(frame, found, rcut);
    for (std::size_t k = 0; k < found.atom.size(); ++k) {
      const int i = found.atom[k];
      frame.type.push_back(whole.type[i]);
      if (k < owners.mine.size()) continue;
      owner_rank.push_back(owners.rank[i]);
      owner_index.push_back(owners.index[i]);
    }
    frame.x.assign(found.x.begin(), found.x.end());
    if (comm->size() == 1) {
      frame.owner.resize(frame.nlocal);
      std::iota(frame.owner.begin(), frame.owner.end(), 0);
      frame.owner.insert(frame.owner.end(), owner_index.begin(), owner_index.end());
    }

    frame.label.energy = whole.label.energy;
    frame.label.frame_weight = whole.label.frame_weight;
    frame.label.virial = whole.label.virial;
    for (int i : owners.mine) frame.tag.push_back(i + 1);
    frame.label.force = share(whole.label.force, owners);
    frame.label.force_weight = share(whole.label.force_weight, owners);
    frame.label.atom_energy = share(whole.label.atom_energy, owners);
    frame.label.atom_pref = share(whole.label.atom_pref, owners);
    frame.label.atom_ener_coeff = share(whole.label.atom_ener_coeff, owners);
    frame.label.drdq = share(whole.label.drdq, owners);
  });
  frame.halo = std::make_shared<StoredHalo>(comm, frame.nlocal, owner_rank, owner_index);
  return frame;
}

}  // namespace dptrain
