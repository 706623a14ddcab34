#include "data/batch_plan.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/random.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

/// Number k of a sequence that belongs to the seed (splitmix64): any position is reached at once.
std::uint64_t mixed_bits(std::uint64_t seed, std::uint64_t k)
{
  std::uint64_t z = seed + (k + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::int64_t batch_size(const BatchSize &rule, std::size_t system, std::int64_t natoms)
{
  switch (rule.rule) {
  case BatchSize::Rule::per_system:
    return rule.list[system];
  case BatchSize::Rule::at_least:
    return (rule.number + natoms - 1) / natoms;
  case BatchSize::Rule::at_most:
  case BatchSize::Rule::filter:
    return std::max<std::int64_t>(1, rule.number / natoms);
  default:
    return rule.number;
  }
}

/// Atoms of a typical frame; those of a system need not be equally large.
std::int64_t mean_natoms(const DataSystem &system)
{
  if (system.same_atoms()) return system.natoms(0);
  double sum = 0.0;
  for (std::int64_t k = 0; k < system.num_frames(); ++k) sum += system.natoms(k);
  return std::max<std::int64_t>(1, std::llround(sum / system.num_frames()));
}

}  // namespace

BatchPlan::BatchPlan(const DataConfig &config, const Systems &systems, std::uint64_t seed) :
    mixed_(config.batch_size.rule == BatchSize::Rule::mixed),
    mixed_size_(config.batch_size.number),
    seed_(seed),
    orders_(systems.size())
{
  const BatchSize &rule = config.batch_size;
  if (rule.rule == BatchSize::Rule::per_system && rule.list.size() != systems.size())
    throw Error(fmt::format(
        "batch_size: {} numbers for {} systems; give one number for each system, or one for all",
        rule.list.size(), systems.size()));
  for (std::size_t k = 0; k < systems.size(); ++k) {
    orders_[k].num_frames = systems[k]->num_frames();
    sizes_.push_back(batch_size(rule, k, mean_natoms(*systems[k])));
    batches_.push_back((orders_[k].num_frames + sizes_[k] - 1) / sizes_[k]);
  }
  probability_ = system_probabilities(config, batches_);
}

std::vector<FrameId> BatchPlan::next()
{
  if (!before_peek_) return draw();
  before_peek_.reset();
  return std::move(peeked_);
}

const std::vector<FrameId> &BatchPlan::peek()
{
  if (!before_peek_) {
    Position before = position();
    peeked_ = draw();
    before_peek_ = std::move(before);
  }
  return peeked_;
}

std::vector<FrameId> BatchPlan::draw()
{
  std::vector<FrameId> batch;
  if (mixed_) {
    for (std::int64_t k = 0; k < mixed_size_; ++k) {
      const std::size_t system = draw_system();
      batch.push_back({system, next_frame(system)});
    }
    return batch;
  }
  const std::size_t system = draw_system();
  Order &order = orders_[system];
  do batch.push_back({system, next_frame(system)});
  while (static_cast<std::int64_t>(batch.size()) < sizes_[system] &&
         order.position < order.num_frames);
  return batch;
}

std::size_t BatchPlan::draw_system()
{
  const double draw = static_cast<double>(mixed_bits(seed_, draws_++) >> 11) * 0x1.0p-53;
  double sum = 0.0;
  std::size_t last = 0;
  for (std::size_t k = 0; k < probability_.size(); ++k) {
    if (probability_[k] <= 0.0) continue;
    sum += probability_[k];
    last = k;
    if (draw < sum) break;
  }
  return last;
}

void BatchPlan::shuffle(std::size_t system)
{
  Order &order = orders_[system];
  order.frames.resize(order.num_frames);
  std::iota(order.frames.begin(), order.frames.end(), std::int64_t(0));
  RandomEngine engine(mixed_bits(mixed_bits(~seed_, system), order.epoch));
  for (std::int64_t k = order.num_frames - 1; k > 0; --k)
    std::swap(order.frames[k], order.frames[random_index(engine, k + 1)]);
}

std::int64_t BatchPlan::next_frame(std::size_t system)
{
  Order &order = orders_[system];
  if (order.epoch < 0 || order.position == order.num_frames) {
    ++order.epoch;
    order.position = 0;
    shuffle(system);
  }
  return order.frames[order.position++];
}

int BatchPlan::frames_of_a_batch() const
{
  double frames = mixed_ ? static_cast<double>(mixed_size_) : 0.0;
  for (std::size_t k = 0; !mixed_ && k < sizes_.size(); ++k)
    frames += probability_[k] * static_cast<double>(sizes_[k]);
  return std::max(1, static_cast<int>(std::lround(frames)));
}

std::int64_t BatchPlan::steps_per_epoch() const
{
  if (mixed_) {
    double frames = 0.0;
    for (const Order &order : orders_) frames += static_cast<double>(order.num_frames);
    return static_cast<std::int64_t>(std::ceil(frames / mixed_size_));
  }
  double steps = 0.0;
  for (std::size_t k = 0; k < batches_.size(); ++k)
    if (probability_[k] > 0.0) steps = std::max(steps, batches_[k] / probability_[k]);
  return static_cast<std::int64_t>(std::ceil(steps - 1e-9));
}

BatchPlan::Position BatchPlan::position() const
{
  if (before_peek_) return *before_peek_;
  Position position{draws_, {}, {}, {}};
  for (const Order &order : orders_) {
    position.frames.push_back(order.num_frames);
    position.epochs.push_back(order.epoch);
    position.positions.push_back(order.position);
  }
  return position;
}

std::string BatchPlan::Position::damage() const
{
  if (epochs.size() != frames.size() || positions.size() != frames.size())
    return fmt::format("not each of the {} systems has a position", frames.size());
  for (std::size_t k = 0; k < frames.size(); ++k)
    if (positions[k] < 0 || positions[k] > frames[k] || epochs[k] < -1)
      return fmt::format("system {} is at frame {} of epoch {}", k + 1, positions[k], epochs[k]);
  return "";
}

bool BatchPlan::go_to(const Position &position)
{
  const auto is_same = [](const Order &order, std::int64_t n) { return order.num_frames == n; };
  if (!std::equal(orders_.begin(), orders_.end(), position.frames.begin(), position.frames.end(),
                  is_same))
    return false;
  before_peek_.reset();
  draws_ = position.draws;
  for (std::size_t k = 0; k < orders_.size(); ++k) {
    orders_[k].epoch = position.epochs[k];
    orders_[k].position = position.positions[k];
    if (orders_[k].epoch >= 0) shuffle(k);
  }
  return true;
}

Systems open_systems(const DataConfig &config, const DataOptions &options,
                     const std::function<void(const std::string &)> &log)
{
  Systems systems;
  const bool filter = config.batch_size.rule == BatchSize::Rule::filter;
  for (const std::string &path : find_systems(config.systems, config.rglob_patterns)) {
    auto system = open_system(path, options);
    if (filter && mean_natoms(*system) > config.batch_size.number)
      log(fmt::format("{}: left out, its frames have {} atoms, more than batch_size filter:{}",
                      path, mean_natoms(*system), config.batch_size.number));
    else
      systems.push_back(std::move(system));
  }
  if (systems.empty())
    throw Error(fmt::format(
        "batch_size filter:{} leaves no system: all have larger frames; give a larger number",
        config.batch_size.number));
  return systems;
}

}  // namespace dptrain
