#pragma once

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

/// A step of parameters[n].
template <class T>
void adam_step(const AdamConstants<T> &constants, const AdamRates *rates, long n,
               const double *gradient, T *mean, T *square, double *parameters);

// Parts of a step that has its gradient in another basis. Several threads of a host may do them at once, for different arrays.

/// to = from.
template <class From, class To> void copy_numbers(long n, const From *from, To *to);
/// gradient[n] becomes the change that is to be subtracted; decay is not looked at.
template <class T>
void adam_change(const AdamConstants<T> &constants, const AdamRates *rates, long n, T *gradient,
                 T *mean, T *square);
/// parameters = keep parameters - change.
template <class T>
void subtract_change(const AdamRates *rates, long n, const T *change, double *parameters);

}  // namespace dptrain::kernels
