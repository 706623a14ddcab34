#pragma once

#include <string>
#include <vector>

#include "dptrain/training/trainer.h"

namespace dptrain {

/// The error that is shown for a term of the loss.
struct ShownError {
  std::string term;  ///< e, f, v, ae, pf, gf
  std::string name;  ///< DeePMD-kit's: rmse_e, mae_e, ...
  double UpdateReport::*value;
};

/// Those of the active terms. As in DeePMD-kit they are mean absolute errors where the loss is made of them, but generalized
/// forces always count squared.
std::vector<ShownError> shown_errors(const LossConfig &loss);

}  // namespace dptrain
