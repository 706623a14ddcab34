#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "dptrain/base/units.h"
#include "dptrain/session/trajectory.h"

namespace dptrain {

/// Notices by temperature, volume and distances that a run goes wrong. The measure is what the run was a while ago, because what
/// grows a little at each step would else never be noticed.
class TroubleWatch {
 public:
  /// A new run, whose temperature and volume may be others.
  void begin();
  /// A step at which nothing is wrong. `certain`: the reference moves the atoms, which may be as hot as they like.
  void add(std::int64_t step, const RunCondition &now, bool certain);
  /// A configuration that the reference has been asked about.
  void add_label(const RunCondition &now);
  /// The run has gone back from here to a state of this step.
  void go_back(std::int64_t state);
  /// What is wrong; empty: nothing. `units`: those of the text.
  std::string look(const RunCondition &now, const UnitFactors &units) const;

 private:
  struct Fine {
    std::int64_t step;
    RunCondition condition;
  };
  void learn(const RunCondition &condition);

  std::deque<Fine> recent_;  // of the latest steps
  std::optional<RunCondition>
      known_;             // of those before: the largest kinetic energy, the latest volume
  double closest_ = 0.0;  // Angstrom, in all labels; 0: there was none
};

}  // namespace dptrain
