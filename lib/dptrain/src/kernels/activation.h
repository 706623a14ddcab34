#pragma once

#include <string>

namespace dptrain::kernels {

enum class ActivationKind { linear, tanh, relu, relu6, gelu, sigmoid, softplus, silu, silut };

/// An activation function of DeePMD-kit: tanh relu relu6 gelu gelu_tf sigmoid softplus silu silut[:T] custom_silu[:T]
/// none linear. silut:T is silu below T and tanh(s (x - T)) + silu(T) above, s the slope of silu at T.
struct Activation {
  ActivationKind kind = ActivationKind::linear;
  double threshold = 3.0, slope = 0.0, constant = 0.0;  ///< of silut

  /// Throws Error for a name that is not in the list.
  static Activation from_name(const std::string &name);
  /// False for functions with a kink in the value or a derivative below the fifth: no table can follow those.
  bool smooth() const;
};

/// Derivatives 0..order of the activation at z + bias: f[k][rows][columns] for k = 0..order, order <= 3. z is
/// [rows][columns], bias [columns] or null.
template <class Real>
void activation_jet(const Activation &activation, int rows, int columns, int order, const Real *z,
                    const Real *bias, Real *const f[4]);

}  // namespace dptrain::kernels
