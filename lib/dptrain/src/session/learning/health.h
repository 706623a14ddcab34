#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/base/messages.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/trainer.h"

namespace dptrain {

/// Looks after a training: warns, once, of atoms with more neighbors than the model keeps, of memory that has run out, and of
/// frames that cannot wait on the disk; knows the largest memory of all ranks. Collective.
class Health {
 public:
  Health(std::shared_ptr<const Communicator> comm, Log warn);

  /// Warns where there is something new.
  void watch(const Model &model);
  /// `trouble`: why frames cannot wait on this rank's scratch disk, empty if they can; `effect`: what happens instead.
  void watch_scratch(const std::string &effect, const std::string &trouble);
  /// Takes the largest of all ranks of what each holds.
  void watch_memory(const MemoryLedger &own);
  /// A warning of too many neighbors was given elsewhere.
  void overflow_is_known() { overflow_warned_ = true; }

  /// Atoms that have had more neighbors than the model keeps, all ranks.
  std::int64_t overflow() const { return overflow_; }
  /// How often memory has run out, all ranks.
  std::int64_t shortages() const { return shortages_; }
  /// Bytes of the rank that has most, at the latest watch_memory(), for a purpose; nullptr: of all together, without the
  /// process.
  double largest(const char *purpose) const;

 private:
  std::shared_ptr<const Communicator> comm_;
  Log warn_;
  bool overflow_warned_ = false, scratch_warned_ = false;
  std::int64_t overflow_ = 0, shortages_ = 0;
  MemoryLedger largest_;
  double largest_total_ = 0.0;
};

}  // namespace dptrain
