// What a training keeps in memory, and when there was not enough.

#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/parallel/memory_table.h"
#include "training_session.h"

using namespace LAMMPS_NS;

dptrain::MemoryLedger TrainingSession::memory() const
{
  dptrain::MemoryLedger ledger;
  if (slot_->model) dptrain::add_uses(ledger, slot_->model->memory());
  if (trainer_) dptrain::add_uses(ledger, trainer_->memory());
  for (const auto *frames : {&waiting_, &held_out_})  // those that the trainer does not have
    for (const dptrain::Frame &frame : *frames) dptrain::add_frame(ledger, frame);
  return ledger;
}

double TrainingSession::largest(const char *purpose) const
{
  if (!purpose) return largest_total_;
  for (const auto &use : largest_memory_)
    if (use.purpose == purpose) return static_cast<double>(use.bytes);
  return 0.0;
}

void TrainingSession::watch_memory()
{
  largest_memory_ = memory();
  largest_total_ = static_cast<double>(dptrain::total_bytes(largest_memory_));
  comm_->all_reduce_max(&largest_total_, 1);
  dptrain::add_uses(largest_memory_, dptrain::process_ledger());
  std::vector<std::int64_t> bytes;
  for (const auto &use : largest_memory_) bytes.push_back(static_cast<std::int64_t>(use.bytes));
  comm_->all_reduce_max(bytes.data(), bytes.size());
  for (std::size_t k = 0; k < bytes.size(); ++k)
    largest_memory_[k].bytes = static_cast<std::size_t>(bytes[k]);

  dptrain::MemoryShortages own;
  if (slot_->model) own = slot_->model->memory_shortages();
  const std::string warning = dptrain::shortage_warning(*comm_, own, shortages_);
  if (!warning.empty()) say("WARNING: fix dptrain: " + warning);
  if (scratch_told_ || !trainer_) return;
  const std::string trouble = dptrain::said_by_one(*comm_, trainer_->scratch_trouble());
  scratch_told_ = !trouble.empty();
  if (scratch_told_) say("WARNING: fix dptrain: frames stay in memory: " + trouble);
}
