#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/clock.h"
#include "dptrain/base/messages.h"
#include "dptrain/labels/rank_zero_source.h"

namespace dptrain {

/// How a SpoolSource deals with its folder.
struct SpoolOptions {
  std::string folder;
  double timeout = 0.0;  ///< seconds after which a request without answer counts as failed; 0: none
  bool virial = true;    ///< answers must have stress or virial
  double settling =
      5.0;  ///< seconds after which a file that has not changed is no longer in the making
  double long_wait = 60.0;  ///< seconds of waiting after which the log says what for
  Clock clock = {};
};

/// What a frame does not say of its atoms, and a request must.
struct SpoolAtoms {
  std::vector<std::string> elements;                  ///< names of the types
  std::array<bool, 3> periodic = {true, true, true};  ///< of the directions of the box
};

/// Labels from a folder: each request is a file, and so is each answer, whoever writes it (a batch job, `dptrain label`, a
/// person; doc/src/dptrain_label.rst). Rank 0 looks at the files.
///
/// The name of a request follows from its content: the same frame, submitted again by a later program, is the same request, and
/// finds its answer. Several programs may use one folder. Files stay when an answer has been taken.
///
/// An answer that is damaged, or not for these atoms, is put aside with a warning, and the request stays open. Since it may
/// be in the making, it gets some seconds (`settling`). What cannot be read is tried again. A request that somebody has removed is
/// written again. Only a request that cannot be written is an Error, on all ranks.
class SpoolSource final : public RankZeroSource {
 public:
  /// `atoms` is called on rank 0 when a frame is submitted. Throws Error on all ranks where the folder is something else.
  SpoolSource(std::shared_ptr<const Communicator> comm, const SpoolOptions &options,
              std::function<SpoolAtoms()> atoms, const Messages &messages);
  bool outlives_program() const override { return true; }
};

}  // namespace dptrain
