#pragma once

#include <cstdint>
#include <vector>

#include "dptrain/base/fields.h"

namespace dptrain {

/// Keeps the weights whose error on frames that are not trained on was smallest, and tells when a training no longer lowers it
/// (early stopping; L. Prechelt, "Early stopping - but when?", 1998).
class EarlyStopping {
 public:
  /// The error after a step, and the weights that had it.
  void add(std::int64_t step, double error, const std::vector<double> &weights);

  /// Whether the error has not come down by 1 % for half as many steps as it took until then, and 1000 at least.
  bool is_over() const;
  /// No error was added, or none that is a number.
  bool empty() const { return best_weights_.empty(); }

  std::int64_t best_step() const { return best_step_; }
  double best_error() const { return best_error_; }
  double last_error() const { return last_error_; }
  const std::vector<double> &best_weights() const { return best_weights_; }

  template <class Visit> void fields(Visit &visit)
  {
    visit("best_step, last_step, lowered_step, best_error, last_error, lowered_error, best_weights",
          best_step_, last_step_, lowered_step_, best_error_, last_error_, lowered_error_,
          best_weights_);
  }

 private:
  std::int64_t best_step_ = 0, last_step_ = 0;
  std::int64_t lowered_step_ = 0;  // when the error last came down by more than what noise does
  double best_error_ = 0.0, last_error_ = 0.0, lowered_error_ = 0.0;
  std::vector<double> best_weights_;
};

}  // namespace dptrain
