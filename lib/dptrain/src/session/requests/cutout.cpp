#include "session/requests/cutout.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

using Vector = std::array<double, 3>;

double dot(const Vector &a, const Vector &b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Vector without(Vector vector, const std::vector<Vector> &directions)
{
  for (const Vector &direction : directions) {
    const double part = dot(vector, direction);
    for (int k = 0; k < 3; ++k) vector[k] -= part * direction[k];
  }
  return vector;
}

}  // namespace

CutoutShape cutout_shape(const CutoutOptions &options, double cutoff, const UnitFactors &units)
{
  constexpr double rounding = 1e-9;  // of a core that was meant as radius less cutoff
  CutoutShape shape{options.radius, options.core, options.vacuum};
  if (shape.core == 0.0) shape.core = shape.radius - cutoff;
  if (shape.vacuum == 0.0) shape.vacuum = cutoff;
  const double unit = units.length;
  if (!(shape.core > 0.0) || shape.core > shape.radius - cutoff + rounding)
    throw Error(fmt::format(
        "cutout {:.6g}{} is not possible: the neighborhoods of the atoms whose forces are learned "
        "must be whole, and the model's cutoff is {:.6g}: use a radius above {}",
        options.radius * unit,
        options.core > 0.0 ? fmt::format(" core {:.6g}", options.core * unit) : "", cutoff * unit,
        fmt::format("{:.6g}{}", (cutoff + options.core) * unit,
                    options.core > 0.0 ? ", or a smaller core" : "")));
  return shape;
}

Cutter::Cutter(const WholeFrame &whole, const CutoutShape &shape) : whole_(whole), shape_(shape)
{
  const double width = 2.0 * shape.radius + shape.vacuum;
  if (!whole.periodic) {
    is_cut_.fill(true);
    box_ = {width, 0.0, 0.0, 0.0, width, 0.0, 0.0, 0.0, width};
    return;
  }
  lattice_.emplace(whole.box);
  for (int d = 0; d < 3; ++d) {
    is_cut_[d] = lattice_->height(d) > width;
    const double factor = is_cut_[d] ? width / lattice_->height(d) : 1.0;
    Vector edge;
    for (int k = 0; k < 3; ++k) {
      edge[k] = whole.box[3 * d + k];
      box_[3 * d + k] = factor * edge[k];
    }
    if (is_cut_[d]) continue;
    edge = without(edge, kept_);
    const double length = std::sqrt(dot(edge, edge));
    for (double &component : edge) component /= length;
    kept_.push_back(edge);
  }
}

// To the nearest image in the directions that are cut. There an image within the radius is the only one: the box is wider
// than two radii, and the distance across it is not larger than the distance.
Vector Cutter::difference(int from, int to) const
{
  Vector vector;
  for (int k = 0; k < 3; ++k) vector[k] = whole_.coord[3 * to + k] - whole_.coord[3 * from + k];
  if (!lattice_) return vector;
  const Vector u = lattice_->fractional(vector.data());
  std::array<int, 3> back{};
  for (int d = 0; d < 3; ++d)
    if (is_cut_[d]) back[d] = -static_cast<int>(std::lround(u[d]));
  lattice_->shift(vector.data(), back);
  return vector;
}

double Cutter::across(const Vector &vector) const
{
  const Vector rest = without(vector, kept_);
  return std::sqrt(dot(rest, rest));
}

double Cutter::distance(int a, int b) const
{
  return across(difference(a, b));
}

// The center comes to the middle of the new cell, and stays where it was in the directions that are kept.
Cutout Cutter::around(int center) const
{
  Cutout cutout;
  WholeFrame &frame = cutout.frame;
  frame.step = whole_.step;
  frame.periodic = whole_.periodic;
  frame.box = box_;
  Vector u{}, origin{};
  if (lattice_) u = lattice_->fractional(&whole_.coord[3 * static_cast<std::size_t>(center)]);
  for (int d = 0; d < 3; ++d)
    for (int k = 0; k < 3; ++k) origin[k] += (is_cut_[d] ? 0.5 : u[d]) * box_[3 * d + k];
  for (int atom = 0; atom < static_cast<int>(whole_.type.size()); ++atom) {
    const Vector vector = difference(center, atom);
    const double distance = across(vector);
    if (distance > shape_.radius) continue;
    cutout.atoms.push_back(atom);
    for (int k = 0; k < 3; ++k) frame.coord.push_back(origin[k] + vector[k]);
    frame.type.push_back(whole_.type[atom]);
    frame.label.force_weight.push_back(distance <= shape_.core ? 1.0 : 0.0);
  }
  return cutout;
}

bool Cutter::is_whole(const Cutout &cutout) const
{
  return cutout.atoms.size() == whole_.type.size();
}

std::vector<int> Cutter::centers(int first, const std::vector<double> &bars, double least,
                                 int most) const
{
  std::vector<int> found{first}, order(bars.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(
      std::remove_if(order.begin(), order.end(), [&](int atom) { return bars[atom] <= least; }),
      order.end());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return bars[a] > bars[b]; });
  for (const int atom : order) {
    if (static_cast<int>(found.size()) >= most) break;
    if (std::none_of(found.begin(), found.end(),
                     [&](int center) { return distance(center, atom) <= shape_.core; }))
      found.push_back(atom);
  }
  return found;
}

}  // namespace dptrain
