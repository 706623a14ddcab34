#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/training/update_report.h"

namespace dptrain {

/// Weighted means of the errors of several batches, each over those batches that have it; of the loss, the mean of its
/// root is taken, as DeePMD-kit does for what it prints.
class ReportMean {
 public:
  void add(const UpdateReport &report, double weight);
  /// Step and learning rate are those of the last report.
  UpdateReport mean() const;
  bool empty() const { return !any_; }
  template <class Visit> void fields(Visit &visit)
  {
    visit("any, step, learning_rate, loss, terms", any_, step_, learning_rate_, loss_, terms_);
  }

 private:
  struct Mean {
    double sum = 0.0, weight = 0.0;
    void add(double value, double weight_of_it);
    double value() const;
    template <class Visit> void fields(Visit &visit) { visit("sum, weight", sum, weight); }
  };
  struct TermMeans {
    std::string term;
    Mean rmse, mae;
    template <class Visit> void fields(Visit &visit) { visit("term, rmse, mae", term, rmse, mae); }
  };
  TermMeans &means_of(const std::string &term);

  bool any_ = false;
  std::int64_t step_ = 0;
  double learning_rate_ = 0.0;
  Mean loss_;
  std::vector<TermMeans> terms_;
};

}  // namespace dptrain
