#include "session/learning/health.h"

#include <utility>
#include <vector>

#include "dptrain/parallel/broadcast.h"
#include "dptrain/parallel/memory_table.h"

namespace dptrain {

Health::Health(std::shared_ptr<const Communicator> comm, Log warn) :
    comm_(std::move(comm)), warn_(std::move(warn))
{
}

void Health::watch(const Model &model)
{
  overflow_ = model.neighbor_report().overflow;
  comm_->all_reduce_sum(&overflow_, 1);
  if (overflow_ > 0 && !overflow_warned_ && comm_->rank() == 0)
    warn_("atoms have more neighbors than the model's sel keeps: the nearest ones count. Train a "
          "new model with a larger sel if the density grows further");
  overflow_warned_ = overflow_warned_ || overflow_ > 0;
  const std::string shortage = shortage_warning(*comm_, model.memory_shortages(), shortages_);
  if (!shortage.empty() && comm_->rank() == 0) warn_(shortage);
}

void Health::watch_scratch(const std::string &effect, const std::string &trouble)
{
  if (scratch_warned_) return;
  const std::string said = said_by_one(*comm_, trouble);
  scratch_warned_ = !said.empty();
  if (scratch_warned_ && comm_->rank() == 0) warn_(effect + ": " + said);
}

void Health::watch_memory(const MemoryLedger &own)
{
  largest_ = own;
  largest_total_ = static_cast<double>(total_bytes(own));
  comm_->all_reduce_max(&largest_total_, 1);
  add_uses(largest_, process_ledger());
  std::vector<std::int64_t> bytes;
  for (const auto &use : largest_) bytes.push_back(static_cast<std::int64_t>(use.bytes));
  comm_->all_reduce_max(bytes.data(), bytes.size());
  for (std::size_t k = 0; k < bytes.size(); ++k)
    largest_[k].bytes = static_cast<std::size_t>(bytes[k]);
}

double Health::largest(const char *purpose) const
{
  if (!purpose) return largest_total_;
  for (const auto &use : largest_)
    if (use.purpose == purpose) return static_cast<double>(use.bytes);
  return 0.0;
}

}  // namespace dptrain
