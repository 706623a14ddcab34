#pragma once

#include <memory>

#include "dptrain/potential/model/model.h"

namespace dptrain {

/// Energy, forces and virial for an MD step with the current parameters.
class Evaluator {
 public:
  explicit Evaluator(std::shared_ptr<Model> model) : model_(std::move(model)) {}
  /// Adds to what `out` points to. Throws on overlapping atoms or non-finite positions. Not collective.
  void step(const Domain &domain, ForwardOutput &out);
  Model &model() { return *model_; }

 private:
  std::shared_ptr<Model> model_;
};

}  // namespace dptrain
