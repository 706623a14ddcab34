#pragma once

#include <vector>

#include "kernels/memory.h"
#include "kernels/vectors.h"

namespace dptrain::kernels {

// Adam (Kingma and Ba, arXiv 1412.6980) in the form of PyTorch: epsilon is added after the correction of the square root. T is
// the type of the means (double or float); gradients and parameters are float64. All arrays in the memory of the kernels.

/// What stays the same in a training.
template <class T> struct AdamConstants {
  T beta1, beta2, rest1, rest2;  ///< rest: 1 - beta, rounded once
  T epsilon;
  T decay;  ///< of the weights, added to the gradient (Adam, not AdamW)
};

/// What each step has of its own, in the memory of the kernels too, so that a recorded step can be repeated.
struct AdamRates {
  double rate;          ///< lr / (1 - beta1^t)
  double inverse_root;  ///< 1 / sqrt(1 - beta2^t)
  double keep;          ///< factor of the parameters: 1 - lr decay (AdamW), else 1
};

/// Appends numbers begin to begin + size to the parts of adam_step: on a device in pieces, for a team each.
void append_adam_parts(long begin, long size, std::vector<Part> &parts);

/// A step of the parameters in `parts`, which are in the memory of the kernels too.
template <class T>
void adam_step(const AdamConstants<T> &constants, const AdamRates *rates, const Array<Part> &parts,
               const double *gradient, T *mean, T *square, double *parameters);

// Steps that have their gradient in another basis. Several threads of a host may do them at once, for different arrays.

/// Matrices of one size. In arrays to work in [number][size] they lie one after the other, elsewhere they begin at the offsets.
struct MatrixPlaces {
  const long *offsets;  ///< [number], in the memory of the kernels
  int number;
  long size;
};

/// work = values.
template <class From, class T>
void gather_matrices(const MatrixPlaces &places, const From *values, T *work);
/// values = work.
template <class T> void scatter_matrices(const MatrixPlaces &places, const T *work, T *values);
/// The gradients in `work` become the changes that are to be subtracted; decay is not looked at. rates: [number].
template <class T>
void adam_change(const AdamConstants<T> &constants, const AdamRates *rates,
                 const MatrixPlaces &places, T *work, T *mean, T *square);
/// parameters = keep parameters - work.
template <class T>
void subtract_change(const AdamRates *rates, const MatrixPlaces &places, const T *work,
                     double *parameters);

}  // namespace dptrain::kernels
