#pragma once

#include <string>
#include <vector>

#include "dptrain/data/data_set.h"
#include "dptrain/input/config.h"
#include "statistics/data/data_statistics.h"

namespace dptrain {

/// A line for each kind of label that the loss asks for and that frames do not have: how many of all, the first of them,
/// and what looks like such a label under another name. wants_virials: whether somebody asked for them.
std::vector<std::string> missing_labels(const Systems &systems, const LossConfig &loss,
                                        bool wants_virials);

/// A line for each kind of the frames' main labels, energy and forces, that some of these frames of `system` have and
/// others do not: errors are then those of fewer frames.
std::vector<std::string> partial_labels(const DataSystem &system,
                                        const std::vector<std::int64_t> &frames);

/// Lines about frames whose energies are far from those of all others, and what they do to the energy bias; none if there
/// are no such frames.
std::vector<std::string> outlier_lines(const Systems &systems, const DataStatistics &found,
                                       const std::vector<std::string> &type_map);

/// A line about atoms that are closer (Angstrom) than in any real material; empty if they are not.
std::string unlikely_distance(double shortest);

}  // namespace dptrain
