#pragma once

#include <cmath>

#include "tiny_model.h"

namespace dptrain::test {

/// Two atoms of these types at a distance.
inline Cluster dimer(int a, int b, double r)
{
  Cluster atoms(2, 1, 50.0, 20.0);
  atoms.x = {0.0, 0.0, 0.0, 0.6 * r, 0.8 * r, 0.0};
  atoms.type = {a, b};
  atoms.link();
  return atoms;
}

/// Z_i Z_j e^2 / r phi(r / a), as in the manual of LAMMPS (pair_style zbl).
inline double zbl_by_definition(double za, double zb, double r)
{
  const double x = r / (0.46850 / (std::pow(za, 0.23) + std::pow(zb, 0.23)));
  return za * zb * 14.3996454784 / r *
         (0.18175 * std::exp(-3.19980 * x) + 0.50986 * std::exp(-0.94229 * x) +
          0.28022 * std::exp(-0.40290 * x) + 0.02817 * std::exp(-0.20162 * x));
}

}  // namespace dptrain::test
