#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "dptrain/input/config.h"
#include "dptrain/training/update_report.h"

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
  std::map<std::string, std::function<double(const UpdateReport &)>> columns_;  // by name
};

}  // namespace dptrain
