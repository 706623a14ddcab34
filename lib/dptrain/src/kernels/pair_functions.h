#pragma once

#include "kernels/edges.h"
#include "kernels/pair_sums.h"

namespace dptrain::kernels {

/// The universal screened repulsion of two nuclei, brought to zero between two distances as by LAMMPS' pair_style zbl: with
/// t = r - inner, (cubic / 3 + quartic / 4 t) t^3 + shift is added beyond `inner`, and shift below.
struct Zbl {
  double inner = 0.0, outer = 0.0;  ///< Angstrom; outer 0: there is none
  double charges = 0.0;             ///< Z_i Z_j e^2, eV Angstrom
  double screening = 0.0;           ///< 1/Angstrom, of the distance
  double cubic = 0.0, quartic = 0.0, shift = 0.0;
};
/// With the three numbers that make value, slope and curvature zero at `outer`.
Zbl smooth_zbl(double charges, double screening, double inner, double outer);

/// A cubic Hermite spline on equal steps; below its first knot a straight line.
struct PairSpline {
  double begin = 0.0, end = 0.0;  ///< Angstrom; end 0: there is none
  double step = 0.0;
  const double *knots = nullptr;  ///< [number][2] energy, eV, and its slope, eV/Angstrom
};

/// Add half of the energies of the pairs of a chunk to the energies of the centers, eV, and leave what the forces need.
/// Functions [ntypes] of centers of one type; reach_squared: the distances beyond which they are zero, squared, for a quick look.
template <class Real>
void add_zbl(const Edges<Real> &edges, const Zbl *functions, const Real *reach_squared,
             double *energies, const PairSlopes &slopes);
template <class Real>
void add_pair_splines(const Edges<Real> &edges, const PairSpline *functions,
                      const Real *reach_squared, double *energies, const PairSlopes &slopes);

}  // namespace dptrain::kernels
