#include "session/learning/labeled_frames.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/session/trajectory.h"
#include "training/loss/loss_term.h"

namespace dptrain {

namespace {

constexpr std::size_t held_out_frames = 16;

// Of the first label: what the loss asks for and it does not have.
void check_label(const Label &label, const LossConfig &loss, const Log &warn)
{
  for (const auto &term : make_loss_terms(loss))
    if (term->traits().prefactor.is_on() && !term->has_label(label))
      warn(fmt::format("the labels have no {}, which the loss asks for (pref_{}): they are not "
                       "learned; set it to 0, or use a reference that has them",
                       term->traits().label, term->traits().name));
}

}  // namespace

LabeledFrames::LabeledFrames(std::shared_ptr<const Communicator> comm,
                             std::shared_ptr<const ModelInUse> slot, const LearningOptions &options,
                             const TrainingConfig &config, FrameCounts &counts,
                             const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    options_(options),
    config_(config),
    counts_(counts),
    messages_(messages),
    store_(comm_, options_.files.frames_path(),
           options_.files.save.empty() ? "" : options_.files.save + ".ckpt", slot_->type_map(),
           messages_.info),
    type_map_(slot_->type_map())
{
  divide();
  if (!slot_->model()) factory_.emplace(comm_, options_.training, *slot_->input());
}

void LabeledFrames::divide()
{
  const bool passes_messages = slot_->model() && !slot_->model()->is_local();
  const ParallelConfig &parallel = config_.parallel;
  distributor_.emplace(comm_, possible_distribution(parallel.distribution, passes_messages),
                       frames_at_once(config_.batch_size, parallel),
                       slot_->model() ? weights_of_an_atom(slot_->model()->data())
                                      : weights_of_an_atom(slot_->input()->model));
}

Frame LabeledFrames::share(const WholeFrame &frame)
{
  Frame share = distributor_->share(frame, slot_->cutoff());
  const std::string reason = distributor_->take_reason();
  if (!reason.empty()) messages_.info(reason);
  return share;
}

void LabeledFrames::add(const WholeFrame &frame)
{
  if (counts_.stored == 0 && frame.label.force_weight.empty())
    check_label(frame.label, config_.loss, messages_.warning);
  store_.append(frame);
  keep(frame);
  ++counts_.stored;
}

bool LabeledFrames::is_latest(const WholeFrame &frame, const Label &label) const
{
  return frame.label.force_weight.empty() && counts_.latest_step == frame.step &&
         same_energy(label.energy.value_or(0.0), counts_.latest_energy);
}

void LabeledFrames::keep(const WholeFrame &frame)
{
  Frame share = this->share(frame);
  counts_.latest_step = frame.step;
  counts_.latest_energy = frame.label.energy.value_or(0.0);
  if (frame.held_out) {
    if (trainer_) trainer_->check(share);
    ++counts_.held_out;
    held_out_.push_back(std::move(share));
    if (held_out_.size() > held_out_frames) held_out_.erase(held_out_.begin());
  } else if (trainer_) {
    trainer_->add(std::move(share));
  } else {
    waiting_.push_back(std::move(share));
    factory_->note(frame);
  }
}

ModelData LabeledFrames::make_model()
{
  std::string about_statistics;
  factory_->set_config(slot_->input()->model);
  ModelData data = factory_->make(waiting_, about_statistics);
  if (!about_statistics.empty()) messages_.info(about_statistics);
  return data;
}

void LabeledFrames::train_with(Trainer &trainer)
{
  trainer_ = &trainer;
  factory_.reset();
  for (Frame &frame : waiting_) trainer.add(std::move(frame));
  waiting_.clear();
}

HeldOutError LabeledFrames::held_out_error() const
{
  std::vector<const Frame *> frames;
  for (const Frame &frame : held_out_) frames.push_back(&frame);
  if (!trainer_ || frames.empty()) return {};
  return {static_cast<std::int64_t>(frames.size()), trainer_->errors(frames).rmse("f")};
}

void LabeledFrames::add_memory(MemoryLedger &ledger) const
{
  for (const auto *frames : {&waiting_, &held_out_})
    for (const Frame &frame : *frames) add_frame(ledger, frame);
}

std::vector<int> LabeledFrames::types_of(const LabeledFrames &other) const
{
  return places_in(type_map_, other.type_map_);
}

void LabeledFrames::check_baseline(const WholeFrame &frame, const std::string &path) const
{
  if (frame.baseline.has_value() == !slot_->baseline().empty()) return;
  throw Error(fmt::format("{}: its labels are {} a baseline, and this potential has {}: go on with "
                          "the one that they were "
                          "made for, or put the file aside",
                          path, frame.baseline ? "those of a potential with" : "not made for",
                          frame.baseline ? "none" : name_of(slot_->baseline())));
}

std::vector<WholeFrame> LabeledFrames::load(const std::string &path, std::int64_t count)
{
  std::vector<WholeFrame> frames = store_.read(path, count, slot_->path());
  const std::int64_t buffer = options_.training.buffer, learned = num_learned(frames);
  std::int64_t dropped = buffer > 0 && learned > buffer ? (learned - buffer) / buffer * buffer : 0;
  for (const WholeFrame &stored : frames) {
    WholeFrame frame = stored;
    broadcast(*comm_, frame);
    check_baseline(frame, path);
    if (frame.held_out || --dropped < 0) keep(frame);
  }
  counts_.stored = static_cast<std::int64_t>(frames.size());
  return frames;
}

std::int64_t LabeledFrames::load_later(const std::string &path, std::vector<WholeFrame> &frames)
{
  std::vector<WholeFrame> all = store_.read(path, -1, slot_->path());
  std::int64_t learned = 0;
  for (std::size_t k = frames.size(); k < all.size(); ++k) {
    WholeFrame frame = std::move(all[k]);
    broadcast(*comm_, frame);
    keep(frame);
    ++counts_.stored;
    if (!frame.held_out) ++learned;
    frames.push_back(std::move(frame));
  }
  store_.begin(frames, path);
  return learned;
}

std::int64_t LabeledFrames::go_on_with(const std::string &path, std::int64_t count)
{
  const std::vector<WholeFrame> frames = load(path, count);
  store_.begin(frames, path);
  return num_learned(frames);
}

std::int64_t LabeledFrames::num_learned(const std::vector<WholeFrame> &frames) const
{
  std::int64_t number = std::count_if(frames.begin(), frames.end(),
                                      [](const WholeFrame &frame) { return !frame.held_out; });
  comm_->broadcast(&number, sizeof(number), 0);
  return number;
}

}  // namespace dptrain
