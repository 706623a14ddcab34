#include "session/learning/uncertainty_monitor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dptrain/frames/distribution.h"
#include "dptrain/uncertainty/feature_moments.h"

namespace dptrain {

namespace {

constexpr std::int64_t moment_frames = 128;  // whose atoms say what the model has seen
constexpr std::int64_t scored_frames = 32;   // whose uncertainties stand for those of all
constexpr double known_part = 0.9;           // of these frames
constexpr double selected_weight = 0.1;      // of a selected configuration among all that is known

// All frames, or the latest ones and some of the others.
std::vector<std::int64_t> typical_frames(const Trainer &trainer, std::int64_t most)
{
  const std::int64_t total = trainer.num_frames(), wanted = std::min(total, most);
  const std::int64_t latest = std::min(total, most / 2), older = wanted - latest;
  std::vector<std::int64_t> frames;
  for (std::int64_t k = 0; k < older; ++k) frames.push_back(k * (total - latest) / older);
  for (std::int64_t k = total - latest; k < total; ++k) frames.push_back(k);
  return frames;
}

}  // namespace

UncertaintyMonitor::UncertaintyMonitor(std::shared_ptr<const Communicator> comm,
                                       std::shared_ptr<ModelInUse> slot) :
    comm_(std::move(comm)), slot_(std::move(slot))
{
  if (slot_->model() && slot_->model()->last_hidden_layer())
    given_whitening = slot_->model()->last_hidden_layer()->whitening();
}

void UncertaintyMonitor::refresh(Trainer &trainer, bool wants_known_score)
{
  LastHiddenLayer *layer = slot_->model()->last_hidden_layer();
  if (current_ || trainer.num_frames() == 0 || !layer) return;
  guarded(*comm_, [&] {
    if (!given_whitening.empty()) layer->set_whitening(given_whitening);
  });
  FeatureMoments moments(slot_->model(), comm_);
  seen_.clear();
  std::vector<std::int64_t> atoms;
  trainer.visit(typical_frames(trainer, moment_frames), [&](const Frame &frame) {
    moments.add(frame);
    atoms.push_back(frame.weighted_domain().num_centers);
  });
  comm_->all_reduce_sum(atoms.data(), atoms.size());
  for (const std::int64_t natoms : atoms) seen_.push_back({{}, natoms});
  const double part = static_cast<double>(seen_.size()) / moment_frames;
  moments.apply(given_whitening.empty() ? 1.0 : std::min(1.0, part));
  for (std::size_t k = 0; k < seen_.size(); ++k) seen_[k].feature_sum = moments.feature_sums()[k];
  if (wants_known_score) find_known_score(trainer);
  current_ = true;
  slot_->set_uncertainty(true);
}

void UncertaintyMonitor::find_known_score(Trainer &trainer)
{
  std::vector<double> largest, force, uncertainty;
  trainer.visit(typical_frames(trainer, scored_frames), [&](const Frame &frame) {
    force.assign(static_cast<std::size_t>(frame.nall()) * 3, 0.0);
    uncertainty.assign(frame.nlocal, 0.0);
    ForwardOutput out;
    out.force = force.data();
    out.uncertainty = uncertainty.data();
    slot_->model()->forward(frame.weighted_domain(), out);
    const auto most = std::max_element(uncertainty.begin(), uncertainty.end());
    largest.push_back(most == uncertainty.end() ? 0.0 : *most);
  });
  comm_->all_reduce_max(largest.data(), largest.size());
  const auto place = largest.begin() + static_cast<std::ptrdiff_t>(
                                           known_part * static_cast<double>(largest.size() - 1));
  std::nth_element(largest.begin(), place, largest.end());
  known_score_ = *place;
}

double UncertaintyMonitor::distance(const std::vector<double> &feature_sum,
                                    std::int64_t natoms) const
{
  double smallest = std::numeric_limits<double>::infinity();
  for (const Seen &seen : seen_)
    if (seen.natoms == natoms)
      smallest = std::min(smallest, distance(seen.feature_sum, feature_sum, natoms));
  return smallest;
}

double UncertaintyMonitor::distance(const std::vector<double> &a, const std::vector<double> &b,
                                    std::int64_t natoms) const
{
  return feature_distance(slot_->model()->last_hidden_layer()->whitening(), a, b, natoms);
}

std::vector<double> UncertaintyMonitor::feature_sum(const Communicator &comm,
                                                    const Frame &frame) const
{
  const BatchShares shares({&frame}, comm);
  const Frame &share = *shares.frames().front();
  std::vector<double> sum(
      slot_->model()->type_map().size() * slot_->model()->last_hidden_layer()->num_features(), 0.0),
      force(static_cast<std::size_t>(share.nall()) * 3, 0.0);
  guarded(comm, [&] {
    ForwardOutput out;
    out.force = force.data();
    out.feature_sum = sum.data();
    slot_->model()->forward(share.weighted_domain(), out);
  });
  comm.all_reduce_sum(sum.data(), sum.size());
  return sum;
}

void UncertaintyMonitor::remember(std::vector<double> feature_sum, std::int64_t natoms)
{
  seen_.push_back({std::move(feature_sum), natoms});
}

void UncertaintyMonitor::add(const Frame &share)
{
  const BatchShares shares({&share}, *comm_);
  FeatureMoments moments(slot_->model(), comm_);
  guarded(*comm_, [&] { moments.add(*shares.frames().front()); });
  moments.apply(selected_weight);
  remember(moments.feature_sums().front(), share.natoms);
}

}  // namespace dptrain
