#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dptrain/data/data_set.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/statistics/statistics.h"
#include "statistics/data/statistics_search.h"
#include "statistics/energy_outliers.h"
#include "statistics/energy_statistics.h"

namespace dptrain {

/// The two closest atoms of a system.
struct ClosestPair {
  AtomPair pair;
  std::int64_t frame;
};

/// What was seen of one system.
struct SystemStatistics {
  std::int64_t frames = 0;  ///< that were counted
  std::int64_t skipped =
      0;  ///< left out because atoms are too close (StatisticsOptions::min_pair_dist)
  std::int64_t atoms = 0;           ///< center atoms, sum over frames
  double volume = 0.0;              ///< Angstrom^3, sum over frames with a cell
  std::int64_t atoms_in_cells = 0;  ///< sum over frames with a cell
  std::optional<ClosestPair> closest;
  std::vector<int> max_neighbors;  ///< [ntypes] by neighbor type
};

struct StatisticsOptions {
  std::vector<std::int64_t>
      max_frames;              ///< of each system, spread evenly over it; empty: all frames
  double min_pair_dist = 0.0;  ///< Angstrom; frames with closer atoms are left out
};

/// All that a new model takes from its data.
struct DataStatistics {
  Statistics
      statistics;     ///< neighbors and moments; min_distance() is the min_nbor_dist of the model
  EnergyBias energy;  ///< out_bias and out_std of the model
  EnergyOutliers outliers;
  std::vector<SystemStatistics> systems;  ///< in the order of the systems
};

/// Statistics of the frames of `systems` for a model with these settings. The atoms are split over the ranks: a rank reads
/// only its frames, one at a time; a frame that is large compared with the share of a rank is read by several, and each
/// counts a part of its atoms. The result is the same on all ranks; with other numbers of ranks integers and distances are
/// equal, sums differ by rounding. Collective.
/// Throws Error that names system and frame where a position is not finite or two atoms are at the same place.
DataStatistics collect_statistics(const Communicator &comm, const Systems &systems,
                                  const ModelConfig &config, const StatisticsOptions &options = {});

}  // namespace dptrain
