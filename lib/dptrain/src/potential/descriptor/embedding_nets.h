#pragma once

#include <vector>

#include "potential/descriptor/radial_functions.h"
#include "potential/nets/mlp.h"

namespace dptrain {

/// Embedding nets: each function is a net with one input.
class EmbeddingNets final : public RadialFunctions {
 public:
  explicit EmbeddingNets(std::vector<Mlp> nets);

  int number() const override { return static_cast<int>(nets_.size()); }
  int channels() const override { return nets_.front().mlp.outputs(); }
  bool smooth() const override;
  const double *jets(int k, Place place, const double *parameters, int n, int order,
                     const double *x) override;
  void reverse(int k, Place place, const double *parameters, int n, int order, const double *g,
               double *gradient) override;
  std::size_t memory_bytes() const override;

 private:
  struct Net {
    Mlp mlp;
    MlpWorkspace at_knots;
  };
  MlpWorkspace &workspace(int k, Place place)
  {
    return place == Place::knots ? nets_[k].at_knots : elsewhere_;
  }

  std::vector<Net> nets_;
  MlpWorkspace elsewhere_;
};

}  // namespace dptrain
