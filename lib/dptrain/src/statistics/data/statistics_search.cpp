#include "statistics/data/statistics_search.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <tuple>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr double max_images = 100.0;  // a cutoff over more images is a wrong unit, not a crystal
constexpr double farthest = 1e9;      // in cells or Angstrom from the origin
constexpr double same_place = 1e-4;   // Angstrom: one atom twice, in some file rounded

std::string name_of(int atom)
{
  return fmt::format("atom {}", atom);
}

/// Finds the image of an atom that lies in the cell; u are its fractional coordinates there.
void wrap(const Lattice &lattice, int atom, double *x, double *u)
{
  const std::array<double, 3> f = lattice.fractional(x);
  std::array<int, 3> back;
  for (int d = 0; d < 3; ++d) {
    if (!(std::abs(f[d]) < farthest))
      throw Error(fmt::format(
          "{} is more than 10^9 cells away from the origin: check the units of positions and box",
          name_of(atom)));
    back[d] = -static_cast<int>(std::floor(f[d]));
    u[d] = f[d] + back[d];
  }
  lattice.shift(x, back);
}

}  // namespace

int FrameSearch::Axis::cell_of(double u) const
{
  return std::clamp(static_cast<int>((u - low) * inv_size), 0, count - 1);
}

FrameSearch::FrameSearch(const WholeFrame &frame, int ntypes, double rcut) :
    ntypes_(ntypes), rcut_(rcut), box_(frame.box), found_first_(ntypes + 1, 0)
{
  const std::size_t natoms = frame.type.size();
  if (frame.coord.size() != 3 * natoms)
    throw Error(fmt::format("{} atom types but {} coordinates (3 per atom are needed)", natoms,
                            frame.coord.size()));
  for (std::size_t k = 0; k < frame.coord.size(); ++k)
    if (!std::isfinite(frame.coord[k]))
      throw Error(fmt::format(
          "the position of {} is not a finite number: correct it, or leave the frame out",
          name_of(static_cast<int>(k / 3))));
  std::vector<double> x = frame.coord, u = frame.coord;
  if (frame.periodic) {
    lattice_.emplace(frame.box);
    for (std::size_t i = 0; i < natoms; ++i)
      wrap(*lattice_, static_cast<int>(i), &x[3 * i], &u[3 * i]);
  }
  make_axes(frame, u);
  sort(frame, x, u);
}

// Cells along fractional coordinates in a cell, along Cartesian ones without one.
void FrameSearch::make_axes(const WholeFrame &frame, std::vector<double> &u)
{
  double extent[3], unit[3];  // Angstrom; of u
  for (int d = 0; d < 3; ++d) {
    if (lattice_) {
      extent[d] = lattice_->height(d);
      unit[d] = 1.0;
      if (!(rcut_ / extent[d] < max_images))
        throw Error(fmt::format("the cell is only {} Angstrom thick, the cutoff is {} Angstrom: "
                                "check the units of the box",
                                extent[d], rcut_));
      continue;
    }
    double low = 0.0, high = 0.0;
    for (std::size_t i = 0; i < frame.type.size(); ++i) {
      low = i ? std::min(low, u[3 * i + d]) : u[d];
      high = i ? std::max(high, u[3 * i + d]) : u[d];
    }
    if (!(high - low < farthest))
      throw Error(
          "atoms are more than 10^9 Angstrom away from each other: check the units of positions");
    axes_[d].low = low;
    extent[d] = unit[d] = high - low;
  }
  limit_cells(frame.type.size(), extent);
  for (int d = 0; d < 3; ++d) {
    Axis &axis = axes_[d];
    const double size = extent[d] / axis.count;
    axis.inv_size = unit[d] > 0.0 ? axis.count / unit[d] : 0.0;
    // without a cell there is nothing beyond the last one
    axis.reach = size > 0.0 ? static_cast<int>(std::min(std::ceil(rcut_ / size - 1e-9), 1e6)) : 1;
    if (!lattice_) axis.reach = std::min(axis.reach, axis.count);
  }
}

// Cells as wide as the cutoff, which smaller ones do not beat, but wider ones for few atoms in a large space.
void FrameSearch::limit_cells(std::size_t natoms, const double *extent)
{
  const double most = 2.0 * natoms + 64.0;
  // wider than the cutoff by more than the rounding of a cell's index
  double size = rcut_ * (1.0 + 1e-6), total;
  do {
    total = 1.0;
    for (int d = 0; d < 3; ++d) total *= std::max(1.0, std::floor(extent[d] / size));
    for (int d = 0; d < 3 && total <= most; ++d)
      axes_[d].count = std::max(1, static_cast<int>(extent[d] / size));
    size *= 1.26;
  } while (total > most);
}

// Counting sort: equal in every run.
void FrameSearch::sort(const WholeFrame &frame, const std::vector<double> &x,
                       const std::vector<double> &u)
{
  const int natoms = static_cast<int>(frame.type.size());
  const std::size_t stride = std::size_t(axes_[0].count) * axes_[1].count * axes_[2].count + 1;
  std::vector<std::size_t> slot(natoms);
  start_.assign(stride * ntypes_ + 1, 0);
  for (int i = 0; i < natoms; ++i) {
    if (frame.type[i] < 0) continue;
    if (frame.type[i] >= ntypes_)
      throw Error(fmt::format(
          "{} has type index {}, but there are only {} types: use a type map with all elements",
          name_of(i), frame.type[i], ntypes_));
    const int a = axes_[0].cell_of(u[3 * i]), b = axes_[1].cell_of(u[3 * i + 1]);
    slot[i] = stride * frame.type[i] + (std::size_t(a) * axes_[1].count + b) * axes_[2].count +
              axes_[2].cell_of(u[3 * i + 2]);
    ++start_[slot[i] + 1];
  }
  for (std::size_t k = 1; k < start_.size(); ++k) start_[k] += start_[k - 1];
  for (auto *array : {&x_, &y_, &z_}) array->resize(start_.back());
  atom_.resize(start_.back());
  std::vector<int> next(start_);
  for (int i = 0; i < natoms; ++i) {
    if (frame.type[i] < 0) continue;
    const int place = next[slot[i]]++;
    x_[place] = x[3 * i];
    y_[place] = x[3 * i + 1];
    z_[place] = x[3 * i + 2];
    atom_[place] = i;
  }
}

void FrameSearch::for_each_atom(std::int64_t begin, std::int64_t end, std::int64_t of,
                                const std::function<void(const Neighborhood &)> &visit)
{
  const std::int64_t rows = std::int64_t(axes_[0].count) * axes_[1].count * axes_[2].count;
  const std::size_t stride = rows + 1;
  for (std::int64_t c = rows * begin / of; c < rows * end / of; ++c) {
    bool any = false;
    for (int t = 0; t < ntypes_; ++t)
      any = any || start_[stride * t + c + 1] > start_[stride * t + c];
    if (!any) continue;
    const int cell[3] = {static_cast<int>(c / axes_[2].count / axes_[1].count),
                         static_cast<int>(c / axes_[2].count % axes_[1].count),
                         static_cast<int>(c % axes_[2].count)};
    gather(cell);
    for (int t = 0; t < ntypes_; ++t)
      for (int i = start_[stride * t + c]; i < start_[stride * t + c + 1]; ++i)
        visit(around(t, i, i - start_[stride * t + c]));
  }
}

// All atoms in the cells within reach.
void FrameSearch::gather(const int *cell)
{
  near_.size = 0;
  near_.runs.clear();
  near_.first.assign(1, 0);
  near_.self.assign(ntypes_, 0);
  for (int t = 0; t < ntypes_; ++t) {
    const std::size_t stride = (start_.size() - 1) / ntypes_;
    if (start_[stride * (t + 1) - 1] > start_[stride * t]) {
      int offset[2];
      for (offset[0] = -axes_[0].reach; offset[0] <= axes_[0].reach; ++offset[0])
        for (offset[1] = -axes_[1].reach; offset[1] <= axes_[1].reach; ++offset[1])
          gather_row(t, cell, offset);
    }
    near_.first.push_back(near_.size);
  }
}

// The part of them with given steps along the first two axes; an image of the frame at a time.
void FrameSearch::gather_row(int type, const int *cell, const int *offset)
{
  const std::size_t stride = (start_.size() - 1) / ntypes_;
  int wrapped[2], image[3];
  for (int d = 0; d < 2; ++d) {
    const int count = axes_[d].count, place = cell[d] + offset[d];
    image[d] = place >= 0 ? place / count : -((count - 1 - place) / count);
    wrapped[d] = place - image[d] * count;
    if (!lattice_ && image[d] != 0) return;
  }
  const int count = axes_[2].count, last = cell[2] + axes_[2].reach;
  const std::size_t row =
      stride * type + (std::size_t(wrapped[0]) * axes_[1].count + wrapped[1]) * count;
  for (int from = cell[2] - axes_[2].reach; from <= last;) {
    image[2] = from >= 0 ? from / count : -((count - 1 - from) / count);
    const int end = std::min(last + 1, (image[2] + 1) * count);
    const int begin = from - image[2] * count;
    const bool home = !image[0] && !image[1] && !image[2];
    if (lattice_ || home) {
      if (home && !offset[0] && !offset[1])
        near_.self[type] = near_.size + start_[row + cell[2]] - start_[row + begin];
      double shift[3];
      for (int d = 0; d < 3; ++d)
        shift[d] =
            lattice_ ? image[0] * box_[d] + image[1] * box_[3 + d] + image[2] * box_[6 + d] : 0.0;
      copy(start_[row + begin], start_[row + end - image[2] * count], shift);
    }
    from = end;
  }
}

void FrameSearch::copy(int begin, int end, const double *shift)
{
  if (begin == end) return;
  if (near_.x.size() < std::size_t(near_.size + end - begin))
    for (auto *array : {&near_.x, &near_.y, &near_.z})
      array->resize(2 * (near_.size + end - begin));
  double *x = near_.x.data() + near_.size, *y = near_.y.data() + near_.size,
         *z = near_.z.data() + near_.size;
  const double *from_x = x_.data() + begin, *from_y = y_.data() + begin,
               *from_z = z_.data() + begin;
  const double dx = shift[0], dy = shift[1], dz = shift[2];
  for (int k = 0; k < end - begin; ++k) {
    x[k] = from_x[k] + dx;
    y[k] = from_y[k] + dy;
    z[k] = from_z[k] + dz;
  }
  near_.runs.push_back({near_.size, begin});
  near_.size += end - begin;
}

// The neighbors of sorted atom `index`, which is number `of_cell` of its type in its cell.
Neighborhood FrameSearch::around(int type, int index, int of_cell)
{
  const int n = near_.first.back();
  squares_.resize(n);
  components_.resize(n);
  found_squares_.resize(n + 1);
  found_components_.resize(n + 1);
  const double px = x_[index], py = y_[index], pz = z_[index];
  const double *x = near_.x.data(), *y = near_.y.data(), *z = near_.z.data();
  double *squares = squares_.data(), *components = components_.data();
  _Pragma("omp simd") for (int k = 0; k < n; ++k)
  {
    const double dx = x[k] - px, dy = y[k] - py, dz = z[k] - pz;
    squares[k] = dx * dx + dy * dy + dz * dz;
    components[k] = dx + dy + dz;
  }
  squares[near_.self[type] + of_cell] = std::numeric_limits<double>::infinity();

  const double limit = rcut_ * rcut_;
  double *near_squares = found_squares_.data(), *near_components = found_components_.data();
  int found = 0;
  for (int t = 0; t < ntypes_; ++t) {
    // writes all and keeps the near ones: no branch to be guessed
    for (int k = near_.first[t]; k < near_.first[t + 1]; ++k) {
      near_squares[found] = squares[k];
      near_components[found] = components[k];
      found += squares[k] <= limit;
    }
    found_first_[t + 1] = found;
  }
  double closest = limit;
  _Pragma("omp simd reduction(min : closest)") for (int k = 0; k < found; ++k) closest =
      near_squares[k] < closest ? near_squares[k] : closest;
  if (found > 0) note_closest(index, closest);
  return {type, found_squares_.data(), found_components_.data(), found_first_.data()};
}

void FrameSearch::note_closest(int index, double square)
{
  const double distance = std::sqrt(square);
  if (closest_ && closest_->distance < distance) return;
  const int place =
      static_cast<int>(std::find(squares_.begin(), squares_.end(), square) - squares_.begin());
  const auto run = std::find_if(near_.runs.rbegin(), near_.runs.rend(),
                                [&](const std::array<int, 2> &r) { return r[0] <= place; });
  const auto [i, j] = std::minmax(atom_[index], atom_[(*run)[1] + place - (*run)[0]]);
  // in a crystal many pairs are the closest: the first one is named
  if (closest_ && closest_->distance == distance &&
      std::tie(closest_->i, closest_->j) < std::tie(i, j))
    return;
  if (distance < same_place)
    throw Error(fmt::format(
        "{} and {} are at the same place ({} Angstrom): remove one of the two, or the frame",
        name_of(i), i == j ? "its image" : name_of(j), distance));
  closest_ = AtomPair{distance, i, j};
}

}  // namespace dptrain
