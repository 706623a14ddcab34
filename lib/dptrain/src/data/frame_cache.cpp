#include "data/frame_cache.h"

#include <algorithm>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/broadcast.h"
#include "frames/frame_check.h"

namespace dptrain {

namespace {

constexpr int frame_bits = 40;                             // the rest of a number is the system
constexpr std::size_t least_rest = std::size_t(64) << 20;  // bytes

std::int64_t number_of(const FrameId &id)
{
  return (std::int64_t(id.system) << frame_bits) | id.frame;
}

}  // namespace

FrameCache::FrameCache(std::shared_ptr<const Communicator> comm, Systems systems,
                       Distributor distributor, double rcut, int ntypes, std::size_t budget,
                       double min_pair_dist, std::optional<double> total, bool has_charges) :
    comm_(std::move(comm)),
    distributor_(std::move(distributor)),
    systems_(std::move(systems)),
    rcut_(rcut),
    min_pair_dist_(min_pair_dist),
    ntypes_(ntypes),
    total_(total),
    has_charges_(has_charges),
    closest_(ntypes),
    pool_(budget, std::max(budget / 4, least_rest))
{
}

std::vector<const Frame *> FrameCache::load(const std::vector<FrameId> &ids)
{
  for (const std::int64_t number : in_use_) pool_.release(number);
  for (const std::int64_t number : passing_) {
    pool_.erase(number);
    distances_.erase(number);
  }
  in_use_.clear();
  passing_.clear();
  for (const FrameId &id : ids) {
    const std::int64_t number = number_of(id);
    if (!pool_.has(number)) read(id, number);
    in_use_.push_back(number);
  }
  std::vector<const Frame *> frames;
  guarded(*comm_, [&] {
    for (const std::int64_t number : in_use_) {
      if (distances_.at(number) < min_pair_dist_) continue;
      frames.push_back(&pool_.use(number));
    }
  });
  return frames;
}

void FrameCache::prefetch(const std::vector<FrameId> &ids) const
{
  for (const FrameId &id : ids) pool_.prefetch(number_of(id));
}

void FrameCache::read(const FrameId &id, std::int64_t number)
{
  WholeFrame whole;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) whole = systems_.at(id.system)->read(id.frame);
  });
  broadcast(*comm_, whole);
  Frame frame;
  try {
    if (has_charges_) need_cell_for_charges(whole.periodic);
    check_charge(whole.charge, total_);
    frame = distributor_.share(whole, rcut_);
    const PairDistances closest = check_frame(*comm_, frame, ntypes_);
    distances_[number] = closest.smallest();
    if (closest.smallest() >= min_pair_dist_) closest_.lower(closest);
  } catch (const Error &e) {  // thrown on all ranks
    throw Error(fmt::format("{}, frame {}: {}", systems_[id.system]->name(), id.frame, e.what()));
  }
  const std::size_t halo = frame.halo ? frame.halo->memory_bytes() : 0;
  bytes_read_ += static_cast<double>(frame.memory_bytes() + halo);
  ++reads_;
  // the ranks forget the same frames: those that one of them has no room for
  std::int64_t lost = 0;
  guarded(*comm_, [&] { lost = pool_.put(number, std::move(frame)) ? 0 : 1; });
  comm_->all_reduce_max(&lost, 1);
  if (lost == 0) return;
  pool_.close_disk();
  passing_.push_back(number);
}

}  // namespace dptrain
