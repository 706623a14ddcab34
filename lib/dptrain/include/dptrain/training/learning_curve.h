#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/training/trainer.h"

namespace dptrain {

/// lcurve.out in DeePMD-kit's columns: the root of the loss and the errors of the active terms, of the training batch
/// alone or with those of validation data in front of them.
class LearningCurve {
 public:
  /// append = true continues an existing file (resume).
  LearningCurve(const std::string &path, const LossConfig &loss, bool validation, bool append);
  /// Adds a row; without `validation`, its columns hold nan.
  void write(const UpdateReport &training, const std::optional<UpdateReport> &validation = {});

 private:
  void choose_columns(const LossConfig &loss);

  std::ofstream file_;
  std::string path_;
  bool validation_;
  std::vector<std::pair<std::string, double UpdateReport::*>> columns_;  // name, place in a report
};

}  // namespace dptrain
