#pragma once

#include <cstdint>

#include "dptrain/base/fields.h"

// Numbers that live as long as the training, through runs and resumption. Each class of a session has those that it counts, and
// the checkpoint, which is written by one of them, has all.

namespace dptrain {

/// Of LabeledFrames.
struct FrameCounts {
  std::int64_t stored = 0;
  std::int64_t held_out = 0;  ///< of the stored ones
  std::int64_t latest_step = -1;
  double latest_energy = 0.0;  ///< of its label, eV

  /// For checkpoints, whose frames are counted when they are read.
  template <class Visit> void fields(Visit &visit)
  {
    visit("latest_step, latest_energy", latest_step, latest_energy);
  }
};

/// Of RequestBook.
struct ReferenceCounts {
  std::int64_t calls = 0, discarded = 0;
  double seconds = 0.0;
};
DPTRAIN_FIELDS(ReferenceCounts, calls, discarded, seconds)

/// Of OnlineTraining.
struct TrainingCounts {
  bool trained = false;  ///< a first training has ended
  double seconds = 0.0;
};
DPTRAIN_FIELDS(TrainingCounts, trained, seconds)

/// Of ActiveMode: the latest answer that the run went on from.
struct AnswerState {
  std::int64_t step = -1;
  double energy = 0.0;           ///< of the model at this step, as the run went on, eV
  bool reference_moved = false;  ///< from this step on
  double energy_jumps = 0.0;     ///< sum of all answers, eV
};
DPTRAIN_FIELDS(AnswerState, step, energy, reference_moved, energy_jumps)

/// All of them.
struct SessionCounters {
  FrameCounts frames;
  ReferenceCounts reference;
  TrainingCounts training;
  AnswerState answer;
};
DPTRAIN_FIELDS(SessionCounters, frames, reference, training, answer)

}  // namespace dptrain
