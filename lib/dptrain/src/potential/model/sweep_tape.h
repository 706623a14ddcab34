#pragma once

#include <memory>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/potential/model/tape.h"

namespace dptrain {

/// The tape of a model whose passes work on a `Sweep`. Both share it: when the tape is gone, the model's next sweep uses its
/// memory again; while it lives, that takes another.
template <class Sweep> class SweepTape final : public Tape {
 public:
  SweepTape(std::uint64_t version, std::shared_ptr<Sweep> sweep) :
      Tape(version), sweep_(std::move(sweep))
  {
  }
  /// That of a tape which must be of this kind. Throws Error if it is not.
  static std::shared_ptr<Sweep> sweep_of(Tape &tape)
  {
    if (auto *own = dynamic_cast<SweepTape *>(&tape)) return own->sweep_;
    throw Error("Pass A was made in another precision than pass B is asked for");
  }

 private:
  std::shared_ptr<Sweep> sweep_;
};

/// Whether a tape has it too.
template <class Sweep> bool is_on_tape(const std::shared_ptr<Sweep> &sweep)
{
  return sweep.use_count() > 1;
}

}  // namespace dptrain
