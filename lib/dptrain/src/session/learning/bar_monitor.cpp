#include "session/learning/bar_monitor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dptrain/frames/distribution.h"
#include "dptrain/uncertainty/feature_moments.h"

namespace dptrain {

namespace {

constexpr std::int64_t moment_frames = 128;  // whose atoms say what the model has seen
constexpr std::int64_t scored_frames = 32;   // whose bars and forces stand for those of all
constexpr std::int64_t error_frames = 16;    // whose errors do
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

/// While it lives a model gives distances in place of bars: to the last digit the same, whatever the scale of the bars is.
class PlainDistances {
 public:
  explicit PlainDistances(Model &model) : model_(model), bars_(model.bars())
  {
    model_.set_bars({});
  }
  ~PlainDistances() { model_.set_bars(bars_); }
  PlainDistances(const PlainDistances &) = delete;
  PlainDistances &operator=(const PlainDistances &) = delete;

 private:
  Model &model_;
  ErrorBars bars_;
};

}  // namespace

BarMonitor::BarMonitor(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelInUse> slot) :
    comm_(std::move(comm)), slot_(std::move(slot))
{
  if (slot_->model() && slot_->model()->features())
    given_metric = slot_->model()->features()->metric();
}

void BarMonitor::refresh(Trainer &trainer, bool wants_learned)
{
  AtomFeatures *features = slot_->model()->features();
  if (current_ || trainer.num_frames() == 0 || !features) return;
  guarded(*comm_, [&] {
    if (!given_metric.empty()) features->set_metric(given_metric);
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
  moments.apply(given_metric.empty() ? 1.0 : std::min(1.0, part));
  for (std::size_t k = 0; k < seen_.size(); ++k) seen_[k].feature_sum = moments.feature_sums()[k];
  if (wants_learned) look_at_learned(trainer);
  current_ = true;
  slot_->set_bars_known(true);
}

void BarMonitor::look_at_learned(Trainer &trainer)
{
  const PlainDistances plain(*slot_->model());
  const std::size_t ntypes = slot_->type_map().size();
  const std::vector<std::int64_t> frames = typical_frames(trainer, scored_frames);
  learned_distances_.assign(frames.size() * ntypes, 0.0);
  std::vector<double> squares, atoms, force, distance;
  double forces[2] = {0.0, 0.0};  // squares of the components that are learned, their number
  trainer.visit(frames, [&](const Frame &frame) {
    force.assign(static_cast<std::size_t>(frame.nall()) * 3, 0.0);
    distance.assign(frame.nlocal, 0.0);
    ForwardOutput out;
    out.force = force.data();
    out.bar = distance.data();
    slot_->model()->forward(frame.weighted_domain(), out);
    double *const largest = &learned_distances_[squares.size() * ntypes];
    squares.push_back(0.0);
    atoms.push_back(0.0);
    for (int i = 0; i < frame.nlocal; ++i) {
      if (!(distance[i] > 0.0)) continue;
      largest[frame.type[i]] = std::max(largest[frame.type[i]], distance[i]);
      squares.back() += distance[i] * distance[i];
      atoms.back() += 1.0;
      if (frame.label.force.empty()) continue;
      for (int k = 3 * i; k < 3 * i + 3; ++k)
        forces[0] += frame.label.force[k] * frame.label.force[k];
      forces[1] += 3.0;
    }
  });
  comm_->all_reduce_max(learned_distances_.data(), learned_distances_.size());
  comm_->all_reduce_sum(squares.data(), squares.size());
  comm_->all_reduce_sum(atoms.data(), atoms.size());
  comm_->all_reduce_sum(forces, 2);
  known_atom_ = *std::max_element(learned_distances_.begin(), learned_distances_.end());
  known_frame_ = 0.0;
  for (std::size_t k = 0; k < squares.size(); ++k)
    known_frame_ = std::max(known_frame_, std::sqrt(squares[k] / std::max(atoms[k], 1.0)));
  learned_.force = std::sqrt(forces[0] / std::max(forces[1], 1.0));
  const double error = trainer.stored_errors(typical_frames(trainer, error_frames)).rmse("f");
  learned_.error = std::isfinite(error) ? error : 0.0;
  learned_.frames = trainer.num_frames();
}

// Scales change with each answer, distances do not.
LearnedFrames BarMonitor::learned() const
{
  LearnedFrames learned = learned_;
  const ErrorBars &bars = slot_->model()->bars();
  if (!bars.is_known() || learned_distances_.empty()) return learned;
  const std::size_t ntypes = bars.scale.size();
  std::vector<double> largest(learned_distances_.size() / ntypes, 0.0);
  for (std::size_t k = 0; k < learned_distances_.size(); ++k)
    largest[k / ntypes] =
        std::max(largest[k / ntypes], bars.scale[k % ntypes] * learned_distances_[k]);
  const auto place = largest.begin() + static_cast<std::ptrdiff_t>(
                                           known_part * static_cast<double>(largest.size() - 1));
  std::nth_element(largest.begin(), place, largest.end());
  learned.bar = *place;
  return learned;
}

void BarMonitor::set_bars(ErrorBars bars) const
{
  bars.known_atom = std::max(bars.known_atom, known_atom_);
  bars.known_frame = std::max(bars.known_frame, known_frame_);
  slot_->model()->set_bars(bars);
}

double BarMonitor::distance(const std::vector<double> &feature_sum, std::int64_t natoms) const
{
  double smallest = std::numeric_limits<double>::infinity();
  for (const Seen &seen : seen_)
    if (seen.natoms == natoms)
      smallest = std::min(smallest, distance(seen.feature_sum, feature_sum, natoms));
  return smallest;
}

double BarMonitor::distance(const std::vector<double> &a, const std::vector<double> &b,
                            std::int64_t natoms) const
{
  return feature_distance(slot_->model()->features()->metric(), a, b, natoms);
}

std::vector<double> BarMonitor::feature_sum(const Communicator &comm, const Frame &frame) const
{
  const BatchShares shares({&frame}, comm);
  const Frame &share = *shares.frames().front();
  std::vector<double> sum(slot_->model()->type_map().size() * slot_->model()->features()->number(),
                          0.0),
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

void BarMonitor::remember(std::vector<double> feature_sum, std::int64_t natoms)
{
  seen_.push_back({std::move(feature_sum), natoms});
}

void BarMonitor::add(const Frame &share)
{
  const BatchShares shares({&share}, *comm_);
  FeatureMoments moments(slot_->model(), comm_);
  guarded(*comm_, [&] { moments.add(*shares.frames().front()); });
  moments.apply(selected_weight);
  remember(moments.feature_sums().front(), share.natoms);
}

}  // namespace dptrain
