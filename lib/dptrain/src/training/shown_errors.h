#pragma once

#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/training/update_report.h"

namespace dptrain {

/// The error that is shown for a term of the loss.
struct ShownError {
  std::string term;
  bool is_mae;  ///< mean absolute, else root mean square
  /// DeePMD-kit's: rmse_e, mae_e, ...
  std::string name() const { return (is_mae ? "mae_" : "rmse_") + term; }
  double value(const UpdateReport &report) const
  {
    const TermErrors errors = report.errors(term);
    return is_mae ? errors.mae : errors.rmse;
  }
};

/// Those of the terms that are on.
std::vector<ShownError> shown_errors(const LossConfig &loss);

}  // namespace dptrain
