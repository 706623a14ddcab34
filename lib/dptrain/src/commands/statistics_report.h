#pragma once

#include <string>
#include <vector>

#include "statistics/data/data_statistics.h"

namespace dptrain {

/// What `dptrain stat` shows.
struct StatisticsReport {
  const ModelConfig &config;              ///< sel empty: the recommended one
  const std::vector<std::string> &names;  ///< of the systems
  const DataStatistics &found;
  int ranks;
  double seconds;

  std::vector<int> recommended_sel() const;
  /// The sel that davg and dstd are for.
  std::vector<int> sel() const;
};

/// The report in lines, with the two that `dp neighbor-stat` prints.
std::vector<std::string> text_lines(const StatisticsReport &report);

/// The statistics file: what Statistics::from_json reads, and the numbers that follow.
std::string json_text(const StatisticsReport &report);

}  // namespace dptrain
