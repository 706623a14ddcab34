#pragma once

#include <cstdint>

namespace dptrain {

/// Numbers that live as long as the training, through runs and resumption.
struct SessionCounters {
  std::int64_t frames = 0, reference_calls = 0, discarded = 0;
  std::int64_t held_out = 0;  ///< of the frames
  bool trained = false;       ///< a first training has ended
  std::int64_t label_step = -1;
  double label_energy = 0.0;  ///< of the last stored label, eV
  double train_seconds = 0.0, reference_seconds = 0.0;

  // of an active session
  std::int64_t answer_step = -1;  ///< of the latest answer that the run went on from
  double answer_energy = 0.0;     ///< of the model at this step, as the run went on, eV
  bool reference_moved = false;   ///< from this step on
  double energy_jumps = 0.0;      ///< sum, eV

  /// For checkpoints, whose frames are counted when they are read.
  template <class Visit> void fields(Visit &visit)
  {
    visit.or_default(
        "reference_calls, discarded, trained, label_step, label_energy, train_seconds, "
        "reference_seconds, answer_step, answer_energy, reference_moved, energy_jumps",
        reference_calls, discarded, trained, label_step, label_energy, train_seconds,
        reference_seconds, answer_step, answer_energy, reference_moved, energy_jumps);
  }
};

}  // namespace dptrain
