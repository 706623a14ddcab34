#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "kernels/memory.h"
#include "potential/nets/fitting_net.h"

namespace dptrain {

/// The fitting nets of all center types: their parameters in the working precision, the energy of isolated atoms, and the sum
/// of their gradients over the chunks of a sweep. Parameters and gradients are flat float64 arrays in the memory of the
/// kernels, in which the nets stand one after the other at the end.
template <class Real> class FittingNets {
 public:
  /// `subtracts`: types from whose energies that of an isolated atom (D = 0) is subtracted.
  FittingNets(const std::vector<Mlp> &nets, std::vector<char> subtracts);

  FittingNet<Real> &operator[](int type) { return nets_[type]; }
  int inputs() const { return nets_.front().inputs(); }
  int num_features() const { return nets_.front().num_features(); }
  /// Outputs of all layers of a net.
  int num_outputs() const;
  /// The first of their parameters.
  std::size_t begin() const { return begin_.front(); }

  void prepare(const double *parameters);
  /// Flat, those of the nets in the working precision.
  const Real *parameters() const;
  /// What is subtracted from the energy of an atom, eV.
  double vacuum_energy(int type);
  bool subtracts(int type) const { return subtracts_[type] != 0; }

  /// Starts the sum; nothing is cleared that a matrix product can write: the gradient does not fit into the caches.
  void begin_gradient(double *gradient);
  /// FittingNet::gradient of a chunk, added to the sum.
  const Real *add_gradient(int type, const Real *c, FittingState<Real> &state);
  /// dS/dparameters of S = weight * energy of an isolated atom, added to the sum. The weight is in the memory of the kernels.
  void add_vacuum_gradient(int type, const Real *weight);
  /// What was summed up in the working precision goes to float64.
  void flush();
  void end_gradient();

  std::size_t memory_bytes() const;
  void release_workspace();

 private:
  static constexpr bool is_float64 = std::is_same_v<Real, double>;
  std::size_t size(int type) const { return begin_[type + 1] - begin_[type]; }
  int number() const { return static_cast<int>(nets_.size()); }

  std::vector<FittingNet<Real>> nets_;  // by center type
  std::vector<std::size_t> begin_;      // of their parameters, and the end of the last
  std::vector<char> subtracts_;
  struct Vacuum {
    FittingState<Real> state;
    double energy = 0.0;
    bool is_on_host = true;
  };
  std::vector<Vacuum> vacuum_;  // by type, of the latest prepare
  FittingState<Real> vacuum_state_;
  const double *master_ = nullptr;
  kernels::Array<Real> copy_, gradient_copy_;  // where the working precision is another
  double *target_ = nullptr;
  Real *gradient_ = nullptr;
  std::vector<char> fresh_;  // by type: nothing of its net stands in gradient_ yet
  bool flushed_ = false;
};

}  // namespace dptrain
