#include "session/requests/near_symmetry.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "neighbor/lattice.h"

namespace dptrain {

namespace {

using Matrix = std::array<double, 9>;

constexpr std::size_t most_atoms = 256;
constexpr double nearness = 0.4;             // Angstrom, of an atom and its image
constexpr double largest_distortion = 0.02;  // of the lattice
constexpr int operations_of_a_rotation = 4;
// Forces have the symmetry where they differ by less than this part of the largest; codes that impose it do so to rounding.
constexpr double same_force = 1e-3;
constexpr double other_place = 0.05;  // Angstrom

Matrix product(const Matrix &a, const Matrix &b)
{
  Matrix c{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) c[3 * i + j] += a[3 * i + k] * b[3 * k + j];
  return c;
}

void times(const double *row, const Matrix &m, double *result)
{
  for (int j = 0; j < 3; ++j) result[j] = row[0] * m[j] + row[1] * m[3 + j] + row[2] * m[6 + j];
}

// Rotations of the lattice: integer matrices that leave lengths and angles of its vectors as they are.
struct Rotation {
  Matrix cartesian, integers;  // of row vectors, and of those in units of the cell
};

std::vector<Rotation> rotations_of(const Matrix &box)
{
  const Lattice lattice(box);
  Matrix inverse{};  // columns of fractional coordinates: x = s box
  for (int row = 0; row < 3; ++row) {
    double axis[3] = {0.0, 0.0, 0.0};
    axis[row] = 1.0;
    const auto parts = lattice.fractional(axis);
    std::copy(parts.begin(), parts.end(), inverse.begin() + 3 * row);
  }
  std::vector<Rotation> rotations;
  for (int number = 0; number < 19683; ++number) {  // 3^9
    Matrix integers{};
    for (int k = 0, rest = number; k < 9; ++k, rest /= 3) integers[k] = rest % 3 - 1;
    const Matrix rotation = product(product(inverse, integers), box);
    double distortion = 0.0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const double *a = &rotation[3 * i], *b = &rotation[3 * j];
        const double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        distortion = std::max(distortion, std::fabs(dot - (i == j ? 1.0 : 0.0)));
      }
    if (distortion < largest_distortion) rotations.push_back({rotation, integers});
  }
  return rotations;
}

// The difference of two places, to the nearest image.
std::array<double, 3> nearest(const Lattice &lattice, const Matrix &box, const double *from,
                              const double *to)
{
  std::array<double, 3> d{};
  for (int k = 0; k < 3; ++k) d[k] = to[k] - from[k];
  const auto part = lattice.fractional(d.data());
  for (int k = 0; k < 3; ++k)
    for (int c = 0; c < 3; ++c) d[c] -= std::round(part[k]) * box[3 * k + c];
  return d;
}

double length(const std::array<double, 3> &d)
{
  return std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

// The atom on which each one comes to lie; empty where one finds none.
std::vector<int> images(const WholeFrame &frame, const Lattice &lattice, const Matrix &rotation,
                        int first_image)
{
  const int natoms = static_cast<int>(frame.type.size());
  double moved[3], shift[3];
  times(frame.coord.data(), rotation, moved);
  for (int k = 0; k < 3; ++k) shift[k] = frame.coord[3 * first_image + k] - moved[k];
  std::vector<int> image(natoms, -1);
  std::vector<bool> taken(natoms, false);
  for (int i = 0; i < natoms; ++i) {
    times(&frame.coord[3 * i], rotation, moved);
    for (int k = 0; k < 3; ++k) moved[k] += shift[k];
    for (int j = 0; j < natoms && image[i] < 0; ++j)
      if (!taken[j] && frame.type[j] == frame.type[i] &&
          length(nearest(lattice, frame.box, &frame.coord[3 * j], moved)) < nearness)
        image[i] = j;
    if (image[i] < 0) return {};
    taken[image[i]] = true;
  }
  return image;
}

bool is_identity(const Matrix &rotation, const std::vector<int> &image)
{
  for (std::size_t i = 0; i < image.size(); ++i)
    if (image[i] != static_cast<int>(i)) return false;
  return rotation[0] > 0.9 && rotation[4] > 0.9 && rotation[8] > 0.9;
}

}  // namespace

NearSymmetry::NearSymmetry(const WholeFrame &frame) : type_(frame.type)
{
  const int natoms = static_cast<int>(type_.size());
  if (!frame.periodic || type_.empty() || type_.size() > most_atoms) return;
  const Lattice lattice(frame.box);
  for (const auto &[rotation, integers] : rotations_of(frame.box))
    for (int first = 0, found = 0; first < natoms && found < operations_of_a_rotation; ++first) {
      if (type_[first] != type_[0]) continue;
      std::vector<int> image = images(frame, lattice, rotation, first);
      if (image.empty() || is_identity(rotation, image)) continue;
      operations_.push_back({rotation, integers, std::move(image)});
      ++found;
    }
}

bool NearSymmetry::is_kept_by_forces_alone(const WholeFrame &frame,
                                           const std::vector<double> &force) const
{
  if (operations_.empty() || frame.type != type_) return false;
  const Lattice lattice(frame.box);
  double largest = 0.0;
  for (const double component : force) largest = std::max(largest, std::fabs(component));
  const auto keeps = [&](const Operation &operation) {
    double moved[3];
    for (std::size_t i = 0; i < operation.image.size(); ++i) {
      times(&force[3 * i], operation.rotation, moved);
      for (int k = 0; k < 3; ++k)
        if (std::fabs(force[3 * operation.image[i] + k] - moved[k]) > same_force * largest)
          return false;
    }
    // positions in units of the cell, but for a translation: the operation is one of the lattice, whatever the cell has become
    const auto part = [&](std::size_t i) { return lattice.fractional(&frame.coord[3 * i]); };
    const auto place = [&](std::size_t i) {
      const auto s = part(i);
      std::array<double, 3> to{};
      for (int k = 0; k < 3; ++k)
        for (int c = 0; c < 3; ++c) to[c] += s[k] * operation.integers[3 * k + c];
      return to;
    };
    const auto from = place(0), to = part(static_cast<std::size_t>(operation.image[0]));
    for (std::size_t i = 1; i < operation.image.size(); ++i) {
      const auto here = place(i), image = part(static_cast<std::size_t>(operation.image[i]));
      std::array<double, 3> d{};
      for (int k = 0; k < 3; ++k) {
        const double difference = here[k] - from[k] - image[k] + to[k];
        for (int c = 0; c < 3; ++c)
          d[c] += (difference - std::round(difference)) * frame.box[3 * k + c];
      }
      if (length(d) > other_place) return true;
    }
    return false;
  };
  return std::any_of(operations_.begin(), operations_.end(), keeps);
}

}  // namespace dptrain
