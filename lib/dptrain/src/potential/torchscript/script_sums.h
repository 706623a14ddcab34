#pragma once

#include <array>
#include <vector>

#include "dptrain/potential/model/model.h"
#include "potential/torchscript/atom_block.h"

namespace dptrain {

/// What pass A finds for a domain, block by block, until it is added to the caller's arrays: so a sweep that runs out of
/// memory can begin again.
class ScriptSums {
 public:
  ScriptSums(const Domain &domain, const ForwardOutput &out, const ScriptFacts &facts);

  bool wants_features() const { return features_ > 0; }
  void add(const AtomBlock &block, const ScriptResults &results);
  /// f [centers][features] of the last hidden layer, the types of the centers, W [ntypes][features][features] or empty.
  void add_features(const AtomBlock &block, const torch::Tensor &f, const torch::Tensor &type,
                    const torch::Tensor &matrices);
  /// Adds all to what `out` points to; `bias` are energies of the types that `acts` says to count.
  void add_to(ForwardOutput &out, const Domain &domain, const std::vector<double> &bias,
              const std::vector<char> &acts, const ErrorBars &bars) const;

 private:
  struct AtomValue {
    int atom;
    double value;
  };

  std::size_t nall_;
  int ntypes_;
  std::int64_t features_ = 0;
  bool atom_virial_ = false;
  double energy_ = 0.0;  // without the bias
  std::array<double, 9> virial_{};
  std::vector<double> force_, atom_virials_;
  std::vector<AtomValue> energies_, distances_;
  torch::Tensor feature_sum_, covariance_;
};

}  // namespace dptrain
