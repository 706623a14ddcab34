// What active learning needs of a training: uncertainties, duplicates, held-out frames, and when a label is learned.

#include <algorithm>
#include <cmath>
#include <limits>

#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "platform.h"
#include "resume_check.h"
#include "training_session.h"

using namespace LAMMPS_NS;
using dptrain::guarded;

namespace {

constexpr std::int64_t MOMENT_FRAMES = 128;  // whose atoms say what the model has seen
constexpr std::int64_t SCORED_FRAMES = 32;   // whose uncertainties stand for those of all
constexpr double KNOWN_PART = 0.9;           // of these frames
constexpr std::size_t HELD_OUT_FRAMES = 16;  // the latest ones are looked at
constexpr std::int64_t TARGET_EVERY = 10;    // optimizer steps between two looks at the errors
constexpr double BATCH_MEMORY = 0.95;        // of the mean error of batches
constexpr double SELECTED_WEIGHT = 0.1;      // of a selected configuration among all that is known

}  // namespace

SessionNumbers TrainingSession::numbers(dptrain::Precision &precision)
{
  return {counters,      report_,      earned_steps_,   precision,
          buffer_error_, active_state, given_whitening_};
}

// All frames, or the latest ones and some of the others.
std::vector<std::int64_t> TrainingSession::typical_frames(std::int64_t most) const
{
  const std::int64_t total = trainer_->num_frames(), wanted = std::min(total, most);
  const std::int64_t latest = std::min(total, most / 2), older = wanted - latest;
  std::vector<std::int64_t> frames;
  for (std::int64_t k = 0; k < older; ++k) frames.push_back(k * (total - latest) / older);
  for (std::int64_t k = total - latest; k < total; ++k) frames.push_back(k);
  return frames;
}

void TrainingSession::refresh_uncertainty()
{
  if (!trainer_ || moments_current_ || trainer_->num_frames() == 0) return;
  if (!slot_->model->last_hidden_layer()) return;
  const double start = platform::walltime();
  guarded(*comm_, [&] {
    if (!given_whitening_.empty())
      slot_->model->last_hidden_layer()->set_whitening(given_whitening_);
  });
  dptrain::FeatureMoments moments(slot_->model, comm_);
  seen_.clear();
  trainer_->visit(typical_frames(MOMENT_FRAMES), [&](const dptrain::Frame &frame) {
    moments.add(frame);
    seen_.push_back({{}, frame.natoms});
  });
  const double part = static_cast<double>(seen_.size()) / MOMENT_FRAMES;
  moments.apply(given_whitening_.empty() ? 1.0 : std::min(1.0, part));
  for (std::size_t k = 0; k < seen_.size(); ++k) seen_[k].feature_sum = moments.feature_sums()[k];
  if (options_.active) find_known_score();
  slot_->uncertainty = moments_current_ = true;
  counters.train_seconds += platform::walltime() - start;
}

void TrainingSession::find_known_score()
{
  std::vector<double> largest, force, uncertainty;
  trainer_->visit(typical_frames(SCORED_FRAMES), [&](const dptrain::Frame &frame) {
    force.assign(static_cast<std::size_t>(frame.nall()) * 3, 0.0);
    uncertainty.assign(frame.nlocal, 0.0);
    dptrain::ForwardOutput out;
    out.force = force.data();
    out.uncertainty = uncertainty.data();
    slot_->model->forward(frame.domain(), out);
    const auto most = std::max_element(uncertainty.begin(), uncertainty.end());
    largest.push_back(most == uncertainty.end() ? 0.0 : *most);
  });
  comm_->all_reduce_max(largest.data(), largest.size());
  const auto place = largest.begin() + static_cast<std::ptrdiff_t>(
                                           KNOWN_PART * static_cast<double>(largest.size() - 1));
  std::nth_element(largest.begin(), place, largest.end());
  known_score_ = *place;
}

double TrainingSession::distance(const std::vector<double> &feature_sum, std::int64_t natoms) const
{
  double smallest = std::numeric_limits<double>::infinity();
  const std::vector<double> &whitening = slot_->model->last_hidden_layer()->whitening();
  for (const Seen &seen : seen_)
    if (seen.natoms == natoms)
      smallest = std::min(
          smallest, dptrain::feature_distance(whitening, seen.feature_sum, feature_sum, natoms));
  return smallest;
}

void TrainingSession::remember(std::vector<double> feature_sum, std::int64_t natoms)
{
  seen_.push_back({std::move(feature_sum), natoms});
}

void TrainingSession::select(const dptrain::WholeFrame &frame, const std::string &note)
{
  const dptrain::Frame part = divide(frame);
  const dptrain::BatchShares shares({&part}, *comm_);
  dptrain::FeatureMoments moments(slot_->model, comm_);
  guarded(*comm_, [&] {
    moments.add(*shares.frames().front());
    if (comm_->rank() != 0) return;
    dptrain::append_to_dataset(options_.dataset, slot_->type_map, frame);
    dptrain::append_to_extxyz(options_.dataset + "/selected.extxyz", slot_->type_map, frame, note);
  });
  moments.apply(SELECTED_WEIGHT);
  seen_.push_back({moments.feature_sums().front(), static_cast<std::int64_t>(frame.type.size())});
  ++counters.frames;
}

void TrainingSession::hold_out(dptrain::Frame frame)
{
  if (trainer_) trainer_->check(frame);
  ++counters.held_out;
  held_out_.push_back(std::move(frame));
  if (held_out_.size() > HELD_OUT_FRAMES) held_out_.erase(held_out_.begin());
}

dptrain::UpdateReport TrainingSession::held_out_errors()
{
  std::vector<const dptrain::Frame *> frames;
  for (const dptrain::Frame &frame : held_out_) frames.push_back(&frame);
  dptrain::UpdateReport report;
  report.rmse_e = report.rmse_f = report.rmse_v = std::numeric_limits<double>::quiet_NaN();
  if (!trainer_ || frames.empty()) return report;
  const double start = platform::walltime();
  report = trainer_->errors(frames);
  counters.train_seconds += platform::walltime() - start;
  return report;
}

// Ends the training of a label where the latest frame and the batches have reached the target, or where its time is over.
void TrainingSession::watch_targets(double seconds)
{
  const double square = report_.rmse_f * report_.rmse_f;
  if (std::isfinite(square))
    buffer_error_ =
        buffer_error_ > 0.0 ? BATCH_MEMORY * buffer_error_ + (1.0 - BATCH_MEMORY) * square : square;
  if (earned_steps_ % TARGET_EVERY != 0) return;
  if (options_.train_seconds > 0.0) {
    double over = seconds > options_.train_seconds ? 1.0 : 0.0;  // ranks have clocks of their own
    comm_->broadcast(&over, sizeof(over), 0);
    if (over > 0.0) earned_steps_ = 0;
  }
  if (options_.target <= 0.0 || std::sqrt(buffer_error_) > options_.target) return;
  if (trainer_->stored_errors({latest_place_}).rmse_f <= options_.target) earned_steps_ = 0;
}
