#pragma once

namespace dptrain::kernels {

/// Where kernels add what several centers share. Forces and virials in float64. Each array is there once per copy.
struct ForceSums {
  double *force = nullptr;        ///< [atoms][3], -dE/dx
  double *virial = nullptr;       ///< [frames][9], sum F (x) x
  double *atom_virial = nullptr;  ///< optional [atoms][9], the pair term given to the neighbor
  int copies = 1;                 ///< see workers.h
  int atoms = 0, frames = 0;      ///< the sizes above: a copy follows the other
};

}  // namespace dptrain::kernels
