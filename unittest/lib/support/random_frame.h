#pragma once

#include <random>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain::test {

/// Numbers that depend on the seed alone.
class Numbers {
 public:
  explicit Numbers(unsigned seed) : engine_(seed) {}
  /// Uniform in [low, high).
  double operator()(double low, double high)
  {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }

 private:
  std::mt19937_64 engine_;
};

inline double distance_squared(const double *p, const double *q)
{
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) sum += (q[c] - p[c]) * (q[c] - p[c]);
  return sum;
}

/// Atoms of two types at random places, not closer than `apart` through the cell either (shifts up to one); some of them
/// outside the cell. Labels: energy, forces and virial of no meaning.
inline WholeFrame random_frame(unsigned seed, int natoms, const std::array<double, 9> &box,
                               bool periodic, double apart)
{
  Numbers random(seed);
  WholeFrame frame;
  frame.step = seed;
  frame.box = box;
  frame.periodic = periodic;
  const auto far_enough = [&](const double *x) {
    for (std::size_t j = 0; j < frame.type.size(); ++j)
      for (int n = 0; n < (periodic ? 27 : 1); ++n) {
        double y[3];
        const int shift[3] = {periodic ? n % 3 - 1 : 0, periodic ? n / 3 % 3 - 1 : 0,
                              periodic ? n / 9 - 1 : 0};
        for (int c = 0; c < 3; ++c)
          y[c] = frame.coord[j * 3 + c] + shift[0] * box[c] + shift[1] * box[3 + c] +
                 shift[2] * box[6 + c];
        if (distance_squared(x, y) < apart * apart) return false;
      }
    return true;
  };
  while (static_cast<int>(frame.type.size()) < natoms) {
    const double f[3] = {random(0, 1), random(0, 1), random(0, 1)};
    double x[3];
    for (int c = 0; c < 3; ++c) x[c] = f[0] * box[c] + f[1] * box[3 + c] + f[2] * box[6 + c];
    if (!far_enough(x)) continue;
    frame.coord.insert(frame.coord.end(), x, x + 3);
    frame.type.push_back(random(0, 1) < 0.4 ? 0 : 1);
  }
  for (int i = 0; i < natoms; i += 5)  // some atoms have left the cell
    for (int c = 0; c < 3 && periodic; ++c) frame.coord[i * 3 + c] += box[c] * 2 - box[6 + c];
  frame.label.energy = random(-5, 5);
  for (int k = 0; k < 3 * natoms; ++k) frame.label.force.push_back(random(-1, 1));
  frame.label.virial.emplace();
  for (double &w : *frame.label.virial) w = random(-3, 3);
  return frame;
}

/// A triclinic cell whose rows have no special direction, and edges of about `size`.
inline std::array<double, 9> skewed_box(double size)
{
  return {0.2 * size,  size,        0.3 * size,  1.1 * size, -0.1 * size,
          0.25 * size, 0.35 * size, -0.2 * size, -0.9 * size};
}

inline std::array<double, 9> cubic_box(double size)
{
  return {size, 0, 0, 0, size, 0, 0, 0, size};
}

}  // namespace dptrain::test
