#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dptrain {

/// What is asked of the outputs f_i (H numbers for each atom) of a model's last hidden layer, of which the energy of an
/// atom is a linear function. The model answers in ForwardOutput.
class LastHiddenLayer {
 public:
  LastHiddenLayer(std::size_t ntypes, std::size_t num_features) : ntypes_(ntypes), h_(num_features)
  {
  }

  /// H
  std::size_t num_features() const { return h_; }
  /// Matrices W [ntypes][H][H] for ForwardOutput::uncertainty; empty: the model has no uncertainty.
  const std::vector<double> &whitening() const { return whitening_; }
  /// Throws Error where they are of another size.
  void set_whitening(std::vector<double> matrices);
  /// Another number after each change.
  std::uint64_t version() const { return version_; }

 private:
  std::size_t ntypes_, h_;
  std::vector<double> whitening_;
  std::uint64_t version_ = 1;
};

}  // namespace dptrain
