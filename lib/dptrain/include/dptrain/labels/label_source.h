#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// What became of one request.
struct LabelAnswer {
  std::int64_t request = 0;  ///< number that submit() gave
  std::string failure;       ///< why there is no label; empty: there is one
  Label
      label;  ///< energy, forces [natoms][3] in order of the atoms, virial where options ask for it
  std::string extra;     ///< what the client added (often JSON)
  double seconds = 0.0;  ///< time of the calculation
};
DPTRAIN_FIELDS(LabelAnswer, request, failure, label, extra, seconds)

/// Where labels come from: a second force field, a quantum code, a person. A configuration is handed over with submit(), and
/// belongs to its request from then on; what became of it comes out of poll() once, at any later time and in any order. All
/// functions are collective, with the same arguments and results on all ranks.
class LabelSource {
 public:
  virtual ~LabelSource() = default;
  /// Whether other programs compute the labels, of any configuration, so that a run may go on meanwhile.
  virtual bool works_beside() const { return false; }
  /// Whether requests live on when this program ends: a later program that submits the same configuration gets the answer.
  virtual bool outlives_program() const { return false; }
  /// Puts the baseline into the frame, which the answer will be without. To be called before submit(), while the run has this
  /// configuration.
  virtual void prepare(WholeFrame & /*frame*/) {}
  /// Whether there is one.
  virtual bool prepares() const { return false; }
  /// From here on (`on`), until it is called again, configurations are others than the present one of the run, and an answer may be a failure
  /// that would end a run otherwise. Nothing is in flight.
  virtual void go_elsewhere(bool /*on*/) {}
  /// Takes over a configuration (atoms in the order of their ids), and returns
  /// the number of the request. Does not wait.
  virtual std::int64_t submit(const WholeFrame &frame) = 0;
  /// The answers that have come since the last call. Does not wait.
  virtual std::vector<LabelAnswer> poll() = 0;
  /// Sleeps until there may be an answer, at most so many seconds. Sources that answer at once need none.
  virtual void wait(double /*seconds*/) {}
  /// Forgets a request: no answer to it will come.
  virtual void cancel(std::int64_t request) = 0;
  /// Requests without an answer.
  virtual std::int64_t in_flight() const = 0;
};

}  // namespace dptrain
