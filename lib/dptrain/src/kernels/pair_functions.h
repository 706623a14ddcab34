#pragma once

#include "kernels/edges.h"
#include "kernels/pair_sums.h"

namespace dptrain::kernels {

/// The universal screened repulsion of two nuclei, brought to zero between two distances as by LAMMPS' pair_style zbl: with
/// t = r - inner, (cubic / 3 + quartic / 4 t) t^3 + shift is added beyond `inner`, and shift below.
struct Zbl {
  double inner = 0.0, outer = 0.0;  ///< Angstrom
  double charges = 0.0;             ///< Z_i Z_j e^2, eV Angstrom
  double screening = 0.0;           ///< 1/Angstrom, of the distance
  double cubic = 0.0, quartic = 0.0, shift = 0.0;
};
/// With the three numbers that make value, slope and curvature zero at `outer`.
Zbl smooth_zbl(double charges, double screening, double inner, double outer);

/// The screened repulsion of two nuclei as neuroevolution potentials have it: charges / r sum_p part_p exp(-rate_p r), brought to zero
/// between two distances by a cosine.
struct NepZbl {
  double inner = 0.0, outer = 0.0;    ///< Angstrom
  double charges = 0.0;               ///< Z_i Z_j e^2, eV Angstrom
  double part[4] = {}, rate[4] = {};  ///< rate: 1/Angstrom
};

/// A cubic Hermite spline on equal steps; below its first knot a straight line.
struct PairSpline {
  double begin = 0.0, step = 0.0;  ///< Angstrom
  int intervals = 0;
  const double *knots = nullptr;  ///< [intervals + 1][2] energy, eV, and its slope, eV/Angstrom
};

/// The cubic between two knots (value, slope), `part` of the step behind the first, as a PairSpline has it.
ValueAndSlope between_knots(const double *left, const double *right, double step, double part);

/// Add half of the energies of the pairs of a chunk to the energies of the centers, eV, and leave what the forces need.
/// For centers of one type, by that of the neighbor: functions [ntypes]; reach_squared [ntypes], the distances beyond which there is
/// nothing, squared.
template <class Real>
void add_zbl(const Edges<Real> &edges, const Zbl *functions, const Real *reach_squared,
             double *energies, const PairSlopes &slopes);
template <class Real>
void add_nep_zbl(const Edges<Real> &edges, const NepZbl *functions, const Real *reach_squared,
                 double *energies, const PairSlopes &slopes);
template <class Real>
void add_pair_spline(const Edges<Real> &edges, const PairSpline &function,
                     const Real *reach_squared, double *energies, const PairSlopes &slopes);

}  // namespace dptrain::kernels
