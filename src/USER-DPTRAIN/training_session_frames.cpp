// Trainings that go on: from a checkpoint, from frames alone, or with a model that was given again.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/session/checkpoint.h"
#include "evaluation_keywords.h"
#include "fmt/format.h"
#include "resume_check.h"
#include "training_session.h"

using namespace LAMMPS_NS;
using dptrain::guarded;

namespace {

bool exists(const std::string &path)
{
  return std::ifstream(path).good();
}

void put_aside(const std::string &path, const std::string &name)
{
  if (std::rename(path.c_str(), name.c_str()) != 0)
    throw dptrain::Error(fmt::format("The file {} of an earlier run cannot be renamed to {}: check "
                                     "the permissions of its folder",
                                     path, name));
}

// ".old", ".old2", ...: the first one that no file of these names has.
std::string free_ending(const std::vector<std::string> &paths)
{
  std::string ending = ".old";
  const auto taken = [&](const std::string &path) { return exists(path + ending); };
  for (int k = 2; std::any_of(paths.begin(), paths.end(), taken); ++k)
    ending = fmt::format(".old{}", k);
  return ending;
}

std::vector<int> identity(std::size_t size)
{
  std::vector<int> types(size);
  std::iota(types.begin(), types.end(), 0);
  return types;
}

}  // namespace

// Rank 0. An existing file that this session does not continue holds labels that somebody paid for; its checkpoint goes
// with it, because it counts on these frames.
void TrainingSession::open_frames_file(const std::vector<dptrain::WholeFrame> &frames,
                                       const std::string &source)
{
  const bool same = source == frames_path_;
  if (!same && exists(frames_path_)) {
    const std::string checkpoint = options_.save + ".ckpt";
    const std::string old = free_ending({frames_path_, checkpoint});
    put_aside(frames_path_, frames_path_ + old);
    if (!options_.save.empty() && std::filesystem::is_regular_file(checkpoint))
      put_aside(checkpoint, checkpoint + old);
    log_(fmt::format("Fix dptrain: the frames of an earlier run in {} are kept as {}{}",
                     frames_path_, frames_path_, old));
  }
  frames_file_ = std::make_unique<dptrain::FramesFile>(frames_path_, same ? frames.size() : 0);
  if (!same)
    for (const auto &frame : frames) frames_file_->append(frame);
}

// Rank 0. The model that the training began with stays, also where its file is the one to save to.
void TrainingSession::keep_start_model()
{
  std::error_code none;
  if (!std::filesystem::equivalent(slot_->path, options_.save, none)) return;
  const std::string old = free_ending({options_.save});
  put_aside(options_.save, options_.save + old);
  log_(fmt::format("Fix dptrain: the model {} that the training began with is kept as {}{}",
                   options_.save, options_.save, old));
}

// Frames are read where rank 0 sees them and shared; old ones that the buffer has dropped are left out, such that each
// of the others comes to the place that it had. `types` gives the index that each type of the file has here, or -1.
std::vector<dptrain::WholeFrame> TrainingSession::load_frames(const std::string &path,
                                                              std::int64_t count,
                                                              const std::vector<int> &types)
{
  std::vector<dptrain::WholeFrame> frames;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    frames = dptrain::FramesFile::read(path, count);
    for (auto &frame : frames)
      for (int &type : frame.type) {
        const bool known = type >= 0 && type < static_cast<int>(types.size());
        if (!known || types[type] < 0)
          throw dptrain::Error(fmt::format(
              "{} has frames with the element of type {}, which the model {} has not: its elements "
              "are {}; give a model with all elements, or define the fix again to start without "
              "these frames",
              path, type, slot_->path, joined(slot_->type_map)));
        type = types[type];
      }
  });
  count = static_cast<std::int64_t>(frames.size());
  comm_->broadcast(&count, sizeof(count), 0);
  frames.resize(count);
  const std::int64_t buffer = options_.buffer, learned = num_learned(frames);
  std::int64_t dropped = buffer > 0 && learned > buffer ? (learned - buffer) / buffer * buffer : 0;
  for (const dptrain::WholeFrame &stored : frames) {
    dptrain::WholeFrame frame = stored;
    broadcast(*comm_, frame);
    if (frame.held_out || --dropped < 0) keep(frame);
  }
  counters.frames = count;
  return frames;
}

// Those that are not for validation, of frames that rank 0 holds.
std::int64_t TrainingSession::num_learned(const std::vector<dptrain::WholeFrame> &frames) const
{
  std::int64_t number =
      std::count_if(frames.begin(), frames.end(),
                    [](const dptrain::WholeFrame &frame) { return !frame.held_out; });
  comm_->broadcast(&number, sizeof(number), 0);
  return number;
}

void TrainingSession::resume(const std::string &file)
{
  std::string path = file;
  dptrain::Checkpoint checkpoint;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    path = resume_path(file);
    if (path != frames_path_of(file)) checkpoint = dptrain::read_checkpoint(path);
  });
  broadcast(*comm_, path);
  if (path == frames_path_of(file)) return resume_frames(path);
  broadcast(*comm_, checkpoint);
  guarded(*comm_, [&] { check_same_model(path, checkpoint.model, *slot_); });
  dptrain::Precision before = dptrain::Precision::float64;
  unpack(checkpoint.counters, numbers(before));

  continue_settings(path, checkpoint.training);
  slot_->set_model(*comm_, checkpoint.model);
  slot_->model->parameters().set(checkpoint.parameters);
  slot_->trained = true;
  trainer_ = std::make_unique<dptrain::Trainer>(slot_->model, comm_, config_);
  const std::string source = frames_path_of(path);
  std::vector<dptrain::WholeFrame> frames =
      load_frames(source, checkpoint.num_frames, identity(type_map_.size()));
  trainer_->set_state(checkpoint.trainer_state);
  // the table stood for the parameters of MD, where the steps of a label were complete
  if (earned_steps_ == 0) trainer_->show_average();
  // another precision needs other knots
  if (before == slot_->settings.precision)
    guarded(*comm_, [&] { slot_->model->set_auxiliary_state(checkpoint.auxiliary_state); });
  resumed_ = true;
  load_later_frames(source, frames);
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) open_frames_file(frames, source);
  });
  say(fmt::format("Fix dptrain: resumed from {}: {} frames, {} optimizer steps", path,
                  counters.frames, steps()));
  if (before != slot_->settings.precision)
    say(fmt::format("Fix dptrain: the steps before were done in precision {}, those from here on "
                    "are done in precision {}",
                    name_of(before), name_of(slot_->settings.precision)));
  train();  // what a checkpoint amid the training of a label has left
}

// Labels that came after the checkpoint, before the program ended: they are learned now.
void TrainingSession::load_later_frames(const std::string &path,
                                        std::vector<dptrain::WholeFrame> &frames)
{
  std::vector<dptrain::WholeFrame> all;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) all = dptrain::FramesFile::read(path, -1);
  });
  std::int64_t count = static_cast<std::int64_t>(all.size());
  comm_->broadcast(&count, sizeof(count), 0);
  all.resize(count);
  for (std::size_t k = frames.size(); k < all.size(); ++k) {
    dptrain::WholeFrame frame = std::move(all[k]);
    broadcast(*comm_, frame);
    keep(frame);
    ++counters.frames;
    ++counters.reference_calls;
    if (!frame.held_out) earned_steps_ += options_.train;
    frames.push_back(std::move(frame));
  }
}

// What neither keywords nor an input file say goes on as it was: all settings where there is no file; else the optimizer,
// whose state the checkpoint has, its learning rate, and the average of the weights.
void TrainingSession::continue_settings(const std::string &path, const std::string &text)
{
  if (text.empty()) return;  // of version 0.1.0
  const dptrain::InputFile before = dptrain::read_training_text(text, path);
  dptrain::InputFile input = input_.value_or(before);
  if (!input.optimizer_given) {
    input.training.optimizer = before.training.optimizer;
    input.optimizer_given = true;
  }
  if (!input.start_lr_given) {
    input.training.schedule.start_lr = before.training.schedule.start_lr;
    input.start_lr_given = true;
  }
  if (input.training.ema_decay == 0.0) input.training.ema_decay = before.training.ema_decay;
  configure(input);
  const dptrain::OptimizerType kept = before.training.optimizer.type;
  if (config_.optimizer.type != kept)
    throw dptrain::Error(
        fmt::format("resume: the training of {} goes on with its optimizer {}, here {} is asked "
                    "for: remove that from keyword or input, or train the model of the checkpoint "
                    "anew, without resume",
                    path, name_of(kept), name_of(config_.optimizer.type)));
}

// A run that ended before its first checkpoint has left frames.
void TrainingSession::resume_frames(const std::string &path)
{
  const auto frames = load_frames(path, -1, identity(type_map_.size()));
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) open_frames_file(frames, path);
  });
  say(fmt::format("Fix dptrain: resumed with the {} frames of {}, there is no checkpoint",
                  counters.frames, path));
  earned_steps_ = options_.train * num_learned(frames);
  counters.reference_calls = counters.frames;
  if (!trainer_ && counters.frames >= options_.warmup) make_model();
  train();
}

void TrainingSession::take_frames(const TrainingSession &before)
{
  counters = before.counters;
  counters.held_out = 0;  // those that are kept are counted again
  counters.trained = slot_->model != nullptr;
  resumed_ = true;
  if (before.counters.frames == 0) return;
  std::vector<int> types;
  for (const std::string &name : before.type_map_) {
    const auto found = std::find(type_map_.begin(), type_map_.end(), name);
    types.push_back(found == type_map_.end() ? -1 : static_cast<int>(found - type_map_.begin()));
  }
  const auto frames = load_frames(before.frames_path_, before.counters.frames, types);
  // numbers of types in the file are those of its model: for another one it is written again
  const bool same = types == identity(types.size());
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) open_frames_file(frames, same ? frames_path_ : "");
  });
  if (!trainer_) earned_steps_ = options_.train * num_learned(frames);
  if (!trainer_ && counters.frames >= options_.warmup) make_model();
  watch();
}
